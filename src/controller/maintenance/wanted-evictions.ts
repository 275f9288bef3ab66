import { keyOf } from '../../kube/resource.ts';
import type { DrainPod } from '../../decide/pod.ts';

/** A pod whose eviction is to be requested now. */
export interface EvictionIntent {
  readonly node: string;
  readonly pod: DrainPod;
}

/** The pods that maintenances want evicted now, by the key of their EvictionRequest, NAMESPACE/UID. */
export interface EvictionIntents {
  /**
   * Sets what a maintenance wants, nothing once it is over, and until when, in milliseconds since the epoch. Returns the keys
   * that it wants from now on, or no longer; all of them where the time has changed.
   */
  replace(maintenance: string, intents: readonly EvictionIntent[], until?: number): readonly string[];
  /** Whether the maintenance wants any pod evicted. */
  isAsking(maintenance: string): boolean;
  /** Who wants the eviction, by the name of the maintenance. */
  of(key: string): ReadonlyMap<string, EvictionIntent>;
}

/** The key of the EvictionRequest of a pod, which is named by the UID of the pod. */
export function requestKeyOf({ namespace, uid }: DrainPod): string {
  return keyOf({ metadata: { namespace, name: uid } });
}

const NOBODY: ReadonlyMap<string, EvictionIntent> = new Map();

export function createEvictionIntents(): EvictionIntents {
  const byMaintenance = new Map<string, ReadonlyMap<string, EvictionIntent>>();
  const byKey = new Map<string, Map<string, EvictionIntent>>();
  const untilOf = new Map<string, number>();
  const drop = (key: string, maintenance: string): void => {
    const wanting = byKey.get(key);
    wanting?.delete(maintenance);
    if (wanting?.size === 0) byKey.delete(key);
  };
  return {
    replace: (maintenance, intents, until) => {
      const isOtherTime = until !== untilOf.get(maintenance);
      if (until === undefined) untilOf.delete(maintenance);
      else untilOf.set(maintenance, until);
      const before = byMaintenance.get(maintenance) ?? NOBODY;
      const after = new Map(intents.map((intent) => [requestKeyOf(intent.pod), intent]));
      if (after.size === 0) byMaintenance.delete(maintenance);
      else byMaintenance.set(maintenance, after);
      const dropped = [...before.keys()].filter((key) => !after.has(key));
      for (const key of dropped) drop(key, maintenance);
      for (const [key, intent] of after) {
        const wanting = byKey.get(key) ?? new Map<string, EvictionIntent>();
        byKey.set(key, wanting.set(maintenance, intent));
      }
      return [...dropped, ...[...after.keys()].filter((key) => isOtherTime || !before.has(key))];
    },
    isAsking: (maintenance) => byMaintenance.has(maintenance),
    of: (key) => byKey.get(key) ?? NOBODY,
  };
}
