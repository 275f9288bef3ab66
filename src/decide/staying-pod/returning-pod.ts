/**
 * Pods that come to a node while it is drained, past its cordon: their template names the node (`nodeName`), or tolerates the
 * cordon. Each one that is evicted is replaced there at once. All times are the API server's, so that every drainer decides the same.
 */
import type { BlockingPod, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';
import { drainBegan, type NodeIdentity } from '../maintenance/recorded-node.ts';
import { podTypeOf } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';

/** A scheduler that has not seen the cordon yet may still bind a pod in this time. */
const BOUND_MS = 10_000;
/** A machine that goes down waits for pods that came in this time, and not for later ones: those would never end. */
const WAITED_MS = 60_000;
/** A node that the API server does not let be cordoned is filled as before: for so long its machine waits for what comes. */
const FILLED_MS = 15 * 60_000;
/** A pod that came back is evicted after this time, so that pods do not come and go as fast as they can. */
const PAUSE_MS = 15_000;

/** With this taint the node lifecycle controller notes a cordon, and when it saw it. */
export const CORDON_TAINT = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const;

/**
 * Since when the node goes down and nothing more should come to it, by the drains that its own agent made and that have begun
 * there, and by its cordon, which may have come much later; undefined where it stays up, and before its turn. Where a drain of an
 * earlier shutdown is still open, the last one counts. `object` is the Node, undefined where it is not known.
 */
export function goesDownSince(
  maintenances: readonly NodeMaintenance[],
  node: NodeIdentity,
  object: Node | undefined,
): number | undefined {
  const own = maintenances.filter((each) => agentNodeOf(each) === node.name && stageOf(each) === 'Drain');
  const begins = own.flatMap((each) => drainBegan(each, node) ?? []);
  if (begins.length === 0) return undefined;
  if (object !== undefined && object.spec?.unschedulable !== true) return Math.max(...begins) + FILLED_MS;
  const taint = object?.spec?.taints?.find(({ key }) => key === CORDON_TAINT.key);
  return Math.max(...begins, timeOf(taint?.timeAdded) ?? 0);
}

/** How long after the drain began the pod was made, in milliseconds; undefined for one that was there or may have been bound before. */
function cameAfterMs(pod: Pod, began: number | undefined): number | undefined {
  const created = timeOf(pod.metadata.creationTimestamp);
  // The gate keeps DaemonSet pods from coming back, and the agent static ones.
  if (began === undefined || created === undefined || podTypeOf(pod) !== 'Default') return undefined;
  return created - began <= BOUND_MS ? undefined : created - began;
}

/** Whether a machine that goes down since then does not wait for the pod. */
export function comesTooLate(pod: Pod, since: number | undefined): boolean {
  return (cameAfterMs(pod, since) ?? 0) > WAITED_MS;
}

/** Why a machine may go down with such pods; their names follow. */
export const CAME_TOO_LATE = 'pods that came to the node past its cordon, and come again whenever they are evicted';

/**
 * Until when a pod that came back is left alone, in milliseconds since the epoch; undefined where it may be evicted `now`. A
 * clock that is behind the API server's makes the pause no longer.
 */
export function evictionPausedUntil(pod: Pod, began: number | undefined, now: number): number | undefined {
  const after = cameAfterMs(pod, began);
  if (after === undefined || began === undefined) return undefined;
  const until = began + after + PAUSE_MS;
  return until > now && until - now <= PAUSE_MS ? until : undefined;
}

/** How the pod blocks a drain that began then, where it came back; `since` is that of `comesTooLate`. */
export function whyReturning(pod: Pod, began: number | undefined, since: number | undefined): BlockingPod | undefined {
  const after = cameAfterMs(pod, began);
  if (after === undefined || began === undefined) return undefined;
  const { name, namespace = 'default', ownerReferences = [] } = pod.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const made = owner === undefined ? '' : ` by ${owner.kind} ${owner.name}`;
  const how = 'its nodeName or its tolerations pass the cordon by';
  const then = comesTooLate(pod, since)
    ? 'it is evicted again, and the machine does not wait for it'
    : 'it is evicted again';
  const message = `it was made${made} after the drain began, and ${how}: ${then}`;
  return { namespace, name, reason: 'Returning', message: message.slice(0, 1024), since: rfc3339(began + after) };
}
