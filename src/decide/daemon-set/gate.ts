import { MAINTENANCE_GATE } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { covers, type NodeDrain } from '../maintenance/maintenance.ts';
import { drainPodOf, podTypeOf, targetNodeOf } from '../pod.ts';

/** Whether the pod waits for the end of a maintenance. */
export function isGated(pod: Pod): boolean {
  return pod.spec.schedulingGates?.some(({ name }) => name === MAINTENANCE_GATE) === true;
}

/** The DaemonSet that controls the pod as NAMESPACE/NAME; undefined for pods of another type. */
export function daemonSetOf(pod: Pod): string | undefined {
  if (podTypeOf(pod) !== 'DaemonSet') return undefined;
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined ? undefined : `${pod.metadata.namespace ?? 'default'}/${owner.name}`;
}

/** What is to be done about a DaemonSet pod that has no node yet. */
type GateStep =
  /** The gate goes away: no drain targets the pod any more. */
  | 'release'
  /** It waits, as it should. */
  | 'hold'
  /** It was made without the gate and is not bound yet: it goes, and comes back with the gate. */
  | 'remove'
  | 'leave';

/**
 * The gate of one pod, by the drains of the node that it is meant for (KEP-4212, "DaemonSet Controller": it is not
 * scheduled on the node until the maintenance is complete). Pods that are bound leave by an EvictionRequest instead.
 */
export function decideGate(pod: Pod, drainsOf: (node: string) => readonly NodeDrain[]): GateStep {
  const bound = pod.spec.nodeName !== undefined && pod.spec.nodeName !== '';
  const node = targetNodeOf(pod);
  if (bound || pod.metadata.deletionTimestamp !== undefined) return 'leave';
  // Whatever it is: nobody else would ever take the gate away.
  if (daemonSetOf(pod) === undefined || node === undefined) return isGated(pod) ? 'release' : 'leave';
  const targeted = covers(drainsOf(node), drainPodOf(pod));
  if (isGated(pod)) return targeted ? 'hold' : 'release';
  return targeted ? 'remove' : 'leave';
}
