/**
 * Whether PodDisruptionBudgets are asked for the pods of a machine that goes down: as long as another node stays. A budget
 * protects data, a quorum or a licence as well as replicas that could move, and somebody who may lift it runs on the nodes that
 * stay. Where none stays, as when all machines are switched off together, nobody is left whom it could protect.
 */
import type { Node } from '../../api/pod.ts';
import { readyConditionOf } from '../pod.ts';
import { timeOf } from '../time.ts';

/** A node whose kubelet is silent keeps its pods for so long (default toleration of node.kubernetes.io/unreachable). */
const SILENT_MS = 5 * 60_000;

/** Whether the node runs, as far as is known `now`: it is Ready, or has not been silent for long. */
function isAlive(node: Node, now: number): boolean {
  const ready = readyConditionOf(node);
  if (ready?.status === 'True') return true;
  const since = timeOf(ready?.lastTransitionTime ?? node.metadata.creationTimestamp);
  return since === undefined || now - since < SILENT_MS;
}

/** The nodes that stay; `gone` are those whose machines go down for good. One that reboots, or is only cordoned, stays. */
export function nodesThatStay(nodes: readonly Node[], gone: ReadonlySet<string>, now: number): readonly string[] {
  return nodes.flatMap((node) => (!gone.has(node.metadata.name) && isAlive(node, now) ? [node.metadata.name] : []));
}
