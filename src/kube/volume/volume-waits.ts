import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import type { Deadline } from '../../decide/deadline/budget.ts';
import { entryCovers, planOf } from '../../decide/maintenance/drain-plan.ts';
import { isKept, keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { usesDriver } from '../../decide/plugin-pods.ts';
import { type NodeIdentity, recordedNodes } from '../../decide/maintenance/recorded-node.ts';
import { drainPodOf } from '../../decide/pod.ts';
import type { PresentVolume } from '../../decide/volume/present.ts';
import { decideVolumes, type NodeVolumes, recordedWaits, volumeKey } from '../../decide/volume/waits.ts';

/** What is seen of a node by who drains it. */
export interface SeenVolumes {
  readonly node: NodeIdentity;
  /** Those that have not ended. */
  readonly pods: readonly Pod[];
  readonly present: readonly PresentVolume[];
  /** The earliest deadline of the node's drains. */
  readonly deadline: Deadline | undefined;
  /** How many entries of its plan that has reached. */
  readonly due: number;
}

/** What drains do about volumes, with the memory since when they wait for each of them. */
export interface VolumeWaits {
  of(maintenance: NodeMaintenance, seen: SeenVolumes, now: number): NodeVolumes;
  /** Forgets a maintenance that is not in the stage Drain any more; without a name, all of them. */
  forget(maintenance?: string): void;
}

/** Creates an empty memory: what another process knew is in the status of the maintenance. `maxWaitMs` as in VolumeFacts. */
export function createVolumeWaits(maxWaitMs: number): VolumeWaits {
  const known = new Map<string, Map<string, ReadonlyMap<string, number>>>();
  /** A status is searched once for all of its nodes. */
  const found = new WeakMap<NodeMaintenanceStatus, ReturnType<typeof recordedNodes>>();
  const recordedIn = ({ status = {} }: NodeMaintenance): ReturnType<typeof recordedNodes> => {
    const recordedOf = found.get(status) ?? recordedNodes(status);
    found.set(status, recordedOf);
    return recordedOf;
  };
  return {
    of: (maintenance, { node, pods, present, due, deadline }, now) => {
      const { name } = maintenance.metadata;
      const byNode = known.get(name) ?? new Map<string, ReadonlyMap<string, number>>();
      const reached = due === 0 ? [] : planOf(maintenance).slice(0, due);
      const keep = keptBy(maintenance);
      // Whose volume is left is not known: where a pod stays that may have one, volumes are not waited for.
      const leaving = (pod: Pod): boolean => usesDriver(pod) || !isKept(keep, drainPodOf(pod));
      const facts = {
        pods: keep.length === 0 ? pods : pods.filter(leaving),
        present,
        known: () => byNode.get(node.name) ?? recordedWaits(recordedIn(maintenance)(node)),
        maxWaitMs,
        deadlineAt: deadline?.at ?? Infinity,
        isDue: (pod: Pod) => reached.some((entry) => entryCovers(entry, drainPodOf(pod))),
      };
      const decided = decideVolumes(facts, now);
      if (decided.left.length === 0) byNode.delete(node.name);
      else byNode.set(node.name, new Map(decided.left.map((each) => [volumeKey(each), each.since])));
      if (byNode.size === 0) known.delete(name);
      else known.set(name, byNode);
      return decided;
    },
    forget: (name) => {
      if (name === undefined) known.clear();
      else known.delete(name);
    },
  };
}
