import type { SelectorRequirement } from '../../api/meta.ts';
import type { Node, Pod, Taint, Toleration } from '../../api/pod.ts';
import { readyConditionOf } from '../pod.ts';
import { nodeSelectorMatches } from '../selector.ts';

/** The operators that this program knows; one of a later Kubernetes may select the node. */
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
/** Taints of states that pass: Kubernetes sets and removes them itself (cordon, pressure, a kubelet that is late). */
const PASSING = ['node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];

/** Whether the toleration accepts the taint (corev1, Toleration). An operator that is not known may accept it. */
export function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === '' || operator === 'Equal') return key !== '' && value === (taint.value ?? '');
  return true;
}

/** Whether the taint keeps pods without a toleration away, now and later. */
function keepsAway({ key, effect }: Taint): boolean {
  return effect !== 'PreferNoSchedule' && !PASSING.some((prefix) => key.startsWith(prefix));
}

function isKnown({ operator }: SelectorRequirement): boolean {
  return OPERATORS.includes(operator);
}

/**
 * Whether the scheduler could place a pod like this one on the node, once that is not cordoned: by the node's taints, and the
 * pod's node selector and required node affinity. The room on the node, the node's volumes and other pods do not count.
 */
export function couldTake({ metadata, spec }: Node, pod: Pod): boolean {
  const { tolerations = [], nodeSelector = {}, affinity } = pod.spec;
  const labels = metadata.labels ?? {};
  const kept = (spec?.taints ?? []).filter((taint) => keepsAway(taint));
  if (!kept.every((taint) => tolerations.some((each) => tolerates(each, taint)))) return false;
  if (!Object.entries(nodeSelector).every(([key, value]) => labels[key] === value)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  const all = required.nodeSelectorTerms.flatMap((term) => [
    ...(term.matchExpressions ?? []),
    ...(term.matchFields ?? []),
  ]);
  return !all.every(isKnown) || nodeSelectorMatches(required, { name: metadata.name, labels });
}

/** Whether the scheduler could place a pod like this one on the node now: the node is Ready, and not cordoned. */
export function couldTakeNow(node: Node, pod: Pod): boolean {
  return readyConditionOf(node)?.status === 'True' && node.spec?.unschedulable !== true && couldTake(node, pod);
}
