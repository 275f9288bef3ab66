import { type ControllerRevision, type DaemonSet, REVISION_HASH_LABEL } from '../../api/daemon-set.ts';
import type { Pod } from '../../api/pod.ts';
import { isGated } from './gate.ts';
import { targetNodeOf } from '../pod.ts';
import { timeOf } from '../time.ts';

/** A DaemonSet in the midst of a rolling update, with its pods. */
interface Rollout {
  readonly daemonSet: DaemonSet;
  /** The hash of the current template. */
  readonly hash: string;
  readonly pods: readonly Pod[];
}

/** What to do for a rolling update that pods of nodes under maintenance hold up. */
interface RolloutStep {
  /** Old pods that may be deleted now. */
  readonly replace: readonly Pod[];
  /** When to look again, in milliseconds, where time alone makes a pod available. */
  readonly againMs?: number;
}

/** A number or a percentage of `total`, rounded up (intstr.GetScaledValueFromIntOrPercent); 0 for what is neither. */
function scaled(value: number | string | undefined, total: number): number {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value ?? '')?.[1];
  return percent === undefined ? 0 : Math.ceil((Number(percent) * total) / 100);
}

/** How many pods may be away at once; undefined where it is no rolling update that holds of pods hold up. */
function maxUnavailableOf({ spec, status }: DaemonSet): number | undefined {
  const { type = 'RollingUpdate', rollingUpdate } = spec.updateStrategy ?? {};
  const desired = status?.desiredNumberScheduled ?? 0;
  // With maxSurge, pods are added before others go: gated pods are not in the way of that.
  if (type !== 'RollingUpdate' || scaled(rollingUpdate?.maxSurge, desired) > 0) return undefined;
  return Math.max(1, scaled(rollingUpdate?.maxUnavailable ?? 1, desired));
}

/** The hash of the DaemonSet's current template; undefined as long as its controller has not seen the last change. */
export function currentHash(daemonSet: DaemonSet, revisions: readonly ControllerRevision[]): string | undefined {
  if (daemonSet.status?.observedGeneration !== daemonSet.metadata.generation) return undefined;
  const own = revisions.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === daemonSet.metadata.uid),
  );
  return own.toSorted((a, b) => b.revision - a.revision)[0]?.metadata.labels?.[REVISION_HASH_LABEL];
}

/** In how many milliseconds the pod is available (podutil.IsPodAvailable): 0 for now, Infinity for an unknown time. */
function availableInMs(pod: Pod, minReadySeconds: number, now: number): number {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return Infinity;
  if (minReadySeconds === 0) return 0;
  const readyAt = timeOf(ready.lastTransitionTime ?? undefined);
  return readyAt === undefined ? 0 : Math.max(0, readyAt + minReadySeconds * 1000 - now);
}

/** Whether pods of one DaemonSet are of several templates: only then is there anything to ask the API server about. */
export function hasSeveralTemplates(pods: readonly Pod[]): boolean {
  return new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_HASH_LABEL])).size > 1;
}

/**
 * The step of a rolling update that the DaemonSet controller cannot take because of gated pods: it counts each of them
 * as unavailable, so that one node under maintenance uses up a maxUnavailable of 1, and every other node keeps the old
 * template (pkg/controller/daemon/update.go, rollingUpdate). This is the same rule without the nodes whose pods are
 * gated. As long as the DaemonSet controller may go on by its own count, nothing is done.
 */
export function decideRollout({ daemonSet, hash, pods }: Rollout, now: number): RolloutStep {
  const maxUnavailable = maxUnavailableOf(daemonSet);
  const gated = new Set(pods.filter(isGated).map(targetNodeOf));
  if (maxUnavailable === undefined || gated.size === 0) return { replace: [] };
  const byNode = Map.groupBy(pods, targetNodeOf);
  const minReadySeconds = daemonSet.spec.minReadySeconds ?? 0;
  // Nodes that have no pod at all.
  let away = Math.max(0, (daemonSet.status?.desiredNumberScheduled ?? 0) - byNode.size);
  let againMs = Infinity;
  const old: Pod[] = [];
  for (const [node, all] of byNode) {
    if (gated.has(node)) continue;
    const live = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const [pod] = live;
    const waitMs = pod === undefined ? Infinity : availableInMs(pod, minReadySeconds, now);
    if (waitMs > 0 && Number.isFinite(waitMs)) againMs = Math.min(againMs, waitMs);
    if (live.length !== 1 || pod === undefined || waitMs > 0) away += 1;
    else if (pod.metadata.labels?.[REVISION_HASH_LABEL] !== hash) old.push(pod);
  }
  const wait = Number.isFinite(againMs) && old.length > 0 ? { againMs } : {};
  if (maxUnavailable - away - gated.size > 0) return { replace: [], ...wait };
  const oldest = old.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return { replace: oldest.slice(0, Math.max(0, maxUnavailable - away)), ...wait };
}
