/** What people are told about the replicas of the nodemaint controller, which are pods that leave like others. */
import type { Node, Pod } from '../../api/pod.ts';
import { couldTakeNow } from '../../decide/disruption-budget/placement.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import type { Finding } from './finding.ts';

/** What a drain does with the pod where it is a replica; `others` are the nodes that are not drained, where they are known. */
export function replicaFindings(pod: Pod, others: readonly Node[] | undefined): readonly Finding[] {
  if (!isOwnController(pod)) return [];
  const place = 'it is a replica of the nodemaint controller: it leaves as the last Default pod of the node';
  if (others === undefined || others.some((node) => couldTakeNow(node, pod)))
    return [{ level: 'note', message: place }];
  const alone = 'no other node can take it, so that agents drain their own nodes when it has left';
  return [{ level: 'note', message: `${place}; ${alone}` }];
}
