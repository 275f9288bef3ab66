/** When a Deployment gets another pod before one of its pods is evicted (KEP-4563, "Pod Surge Example"). */
import { INTERCEPTOR_ANNOTATION_PREFIXES } from '../../../api/names.ts';
import type { Pod } from '../../../api/pod.ts';
import { DELETION_COST_ANNOTATION, type Deployment } from '../api/deployment.ts';
import { SURGE_INTERCEPTOR } from '../api/names.ts';
import { isReplaced, type SurgeChange, type SurgeRecord, surgedReplicas, surgeRecordOf, withoutPod } from './record.ts';

/** What to do for a pod of a Deployment that is asked to leave. */
type SurgeStep =
  /** The Deployment gets another pod. */
  | { readonly kind: 'add'; readonly change: SurgeChange; readonly message: string }
  | { readonly kind: 'wait'; readonly message: string }
  /** The other pod is there: this one is to be deleted when the Deployment is scaled back. */
  | { readonly kind: 'replace'; readonly change: SurgeChange; readonly message: string }
  /** Nothing is added, or not any more, and the next interceptor becomes active. */
  | { readonly kind: 'pass'; readonly change: SurgeChange | undefined; readonly message: string };

/** How many pods the Deployment may have beyond its replicas: its maxSurge, a percentage rounded up as in a rollout. */
export function maxSurgeOf({ spec }: Deployment): number {
  if (spec.strategy?.type === 'Recreate') return 0;
  const { maxSurge = '25%' } = spec.strategy?.rollingUpdate ?? {};
  if (typeof maxSurge === 'number') return maxSurge;
  const percent = Number(/^(\d{1,3})%$/.exec(maxSurge)?.[1] ?? 0);
  return Math.ceil(((spec.replicas ?? 1) * percent) / 100);
}

/** Whether the pod is not known to be unready. */
function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value !== 'True') !== true;
}

/** Whether the template of the Deployment asks for this interceptor. The policy for its account allows no other Deployment. */
function asksForSurge({ spec }: Deployment): boolean {
  const annotations = spec.template?.metadata?.annotations ?? {};
  return INTERCEPTOR_ANNOTATION_PREFIXES.some((prefix) => annotations[`${prefix}${SURGE_INTERCEPTOR}`] !== undefined);
}

/** Whether somebody else says which pods of the ReplicaSet are deleted first, so that this program cannot choose the pod. */
function hasCostOfOthers({ spec }: Deployment, pod: Pod): boolean {
  const isSet = ({ annotations }: Pick<Pod['metadata'], 'annotations'>): boolean =>
    annotations?.[DELETION_COST_ANNOTATION] !== undefined;
  return isSet(spec.template?.metadata ?? {}) || (isSet(pod.metadata) && !isReplaced(pod));
}

function isRollingOut({ metadata, spec, status }: Deployment): boolean {
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return !isSeen || (status?.updatedReplicas ?? 0) < (spec.replicas ?? 1);
}

/** Why a Deployment gets no other pod for this one; undefined where it may get one. */
function whyNot(deployment: Deployment, pod: Pod): string | undefined {
  const { name } = deployment.metadata;
  const { replicas = 1 } = deployment.spec;
  if (pod.metadata.deletionTimestamp !== undefined) return 'The pod is terminating already.';
  if (!isReady(pod)) return 'The pod is not ready: nothing is lost when it leaves.';
  if (deployment.metadata.deletionTimestamp !== undefined) return `Deployment ${name} is being deleted.`;
  if (!asksForSurge(deployment)) return `The template of Deployment ${name} does not name ${SURGE_INTERCEPTOR}.`;
  if (hasCostOfOthers(deployment, pod))
    return `The pod or the template of Deployment ${name} has a pod-deletion-cost of its own: another pod might be deleted.`;
  if (replicas < 1) return `Deployment ${name} is scaled to none.`;
  if (maxSurgeOf(deployment) < 1) return `Deployment ${name} allows no more pods than its replicas (maxSurge).`;
  if (surgeRecordOf(deployment) === undefined && isRollingOut(deployment))
    return `Deployment ${name} is being rolled out.`;
  return undefined;
}

function replacedBy(name: string): string {
  return `Another pod of Deployment ${name} is available.`;
}

function add(deployment: Deployment, uid: string, now: number): SurgeStep {
  const { name } = deployment.metadata;
  const { replicas, pods }: SurgeRecord = surgeRecordOf(deployment) ?? {
    replicas: deployment.spec.replicas ?? 1,
    pods: new Map(),
  };
  if (pods.size >= maxSurgeOf({ ...deployment, spec: { ...deployment.spec, replicas } })) {
    return { kind: 'wait', message: `Deployment ${name} may not have more than ${pods.size} further pods (maxSurge).` };
  }
  const record = { replicas, pods: new Map([...pods, [uid, now]]) };
  const message = `Deployment ${name} gets another pod first.`;
  return { kind: 'add', change: { record, replicas: surgedReplicas(record) }, message };
}

/**
 * The next step for a pod. `now` and `timeoutMs` are milliseconds; a Deployment of which no other pod becomes available
 * within that time is scaled back, and the pod is left to the next interceptor.
 */
export function decideSurge(deployment: Deployment, pod: Pod, now: number, timeoutMs: number): SurgeStep {
  const { metadata, spec, status } = deployment;
  const uid = pod.metadata.uid ?? '';
  const record = surgeRecordOf(deployment);
  const why = whyNot(deployment, pod);
  const change = withoutPod(deployment, uid);
  if (why !== undefined) return { kind: 'pass', change, message: why };
  if (record !== undefined && spec.replicas !== surgedReplicas(record)) {
    const message = `Deployment ${metadata.name} was scaled by somebody else meanwhile.`;
    return { kind: 'pass', change: { record: undefined }, message };
  }
  const since = record?.pods.get(uid);
  if (record === undefined || since === undefined || change === undefined) {
    // The program was stopped after it had scaled the Deployment back.
    if (isReplaced(pod)) return { kind: 'pass', change, message: replacedBy(metadata.name) };
    return add(deployment, uid, now);
  }
  const { availableReplicas = 0, observedGeneration = 0 } = status ?? {};
  const wanted = surgedReplicas(record);
  if (observedGeneration >= (metadata.generation ?? 0) && availableReplicas >= wanted) {
    return { kind: 'replace', change, message: replacedBy(metadata.name) };
  }
  // A time that is ahead is of another clock.
  if (since > now || now - since > timeoutMs) {
    const message = `No other pod of Deployment ${metadata.name} became available in ${Math.round(timeoutMs / 1000)} s.`;
    return { kind: 'pass', change, message };
  }
  const message = `Waiting for another pod of Deployment ${metadata.name}: ${availableReplicas} of ${wanted} are available.`;
  return { kind: 'wait', message };
}
