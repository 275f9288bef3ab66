import type { DrainPlanEntry, KeptPods, NodeMaintenance, Stage } from '../../api/node-maintenance.ts';
import { AGENT_LABEL, BOOT_ANNOTATION, COMPLETION_FINALIZER, REQUESTED_BY_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import { isNameOfAgent } from './agent-names.ts';
import { targetsCover } from './drain-plan.ts';
import { begunNode, hasDrained, nodeStatusOf } from './recorded-node.ts';
import { isKept } from '../kept-pods/kept-pods.ts';
import { nodeLabel } from '../node-label.ts';
import type { DrainPod } from '../pod.ts';
import { nodeSelectorMatches } from '../selector.ts';

/** The order of the stages (KEP-4212, NodeMaintenanceSpec.Stage). */
export const STAGES: readonly Stage[] = ['Idle', 'Cordon', 'Drain', 'Complete'];

/** The effective stage: a maintenance that is being deleted is Complete, unless it never started (KEP-4212, "Finalizers"). */
export function stageOf(maintenance: NodeMaintenance): Stage {
  const stage = maintenance.spec.stage ?? 'Idle';
  return maintenance.metadata.deletionTimestamp !== undefined && stage !== 'Idle' ? 'Complete' : stage;
}

/** Whether the maintenance keeps its nodes unschedulable. */
export function isInProgress(maintenance: NodeMaintenance): boolean {
  const stage = stageOf(maintenance);
  return stage === 'Cordon' || stage === 'Drain';
}

/** Whether no pod and no EvictionRequest is of interest to it: it has not begun, or is over and has let go of all. */
export function isSettled(maintenance: NodeMaintenance): boolean {
  const stage = stageOf(maintenance);
  const hasFinalizer = maintenance.metadata.finalizers?.includes(COMPLETION_FINALIZER) === true;
  return stage === 'Idle' || (stage === 'Complete' && !hasFinalizer);
}

/** The node that the maintenance selects alone, by its name and nothing else; undefined where it selects in another way. */
export function soleNodeOf({ spec }: NodeMaintenance): string | undefined {
  const [term, ...others] = spec.nodeSelector.nodeSelectorTerms;
  const [field, ...more] = term?.matchFields ?? [];
  if (others.length > 0 || more.length > 0 || (term?.matchExpressions ?? []).length > 0) return undefined;
  const isByName = field?.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1;
  return isByName ? field.values[0] : undefined;
}

/**
 * The node whose agent made the maintenance; undefined where no agent made it. It is believed only where the node itself could
 * have written it: it selects this node alone, has a name and the label of its agent, and admission found no person to name.
 * So an object of a person who wrote the label before a policy refused it is a maintenance of that person.
 */
export function agentNodeOf(maintenance: NodeMaintenance): string | undefined {
  const node = soleNodeOf(maintenance);
  const { name, labels, annotations } = maintenance.metadata;
  if (node === undefined || labels?.[AGENT_LABEL] !== nodeLabel(node) || !isNameOfAgent(name, node)) return undefined;
  return annotations?.[REQUESTED_BY_ANNOTATION] === undefined ? node : undefined;
}

/** The longest name of a user that is shown, in characters. */
const MAX_USER = 256;

/** The user who created the maintenance; undefined where admission did not write it, as for an agent. */
export function requestedBy({ metadata }: NodeMaintenance): string | undefined {
  const user = metadata.annotations?.[REQUESTED_BY_ANNOTATION] ?? '';
  return user === '' ? undefined : user.slice(0, MAX_USER);
}

/**
 * Whether the machine has gone down for which the node's agent made this drain, and was booted since: nothing is left to
 * drain, though the agent had no time yet to say so.
 */
export function isEndedByReboot(maintenance: NodeMaintenance, node: Node): boolean {
  const madeIn = maintenance.metadata.annotations?.[BOOT_ANNOTATION];
  const bootId = node.status?.nodeInfo?.bootID ?? '';
  const isItsOwn = agentNodeOf(maintenance) === node.metadata.name && stageOf(maintenance) === 'Drain';
  return isItsOwn && madeIn !== undefined && bootId !== '' && bootId !== madeIn;
}

/** Whether the maintenance selects the node. */
export function selectsNode(maintenance: NodeMaintenance, node: Node): boolean {
  return nodeSelectorMatches(maintenance.spec.nodeSelector, {
    name: node.metadata.name,
    labels: node.metadata.labels ?? {},
  });
}

/** Why static or DaemonSet pods of a node may leave now: a maintenance in the Drain stage and its targets for the node. */
export interface NodeDrain {
  readonly maintenance: string;
  readonly reason: string;
  readonly drainTargets: readonly DrainPlanEntry[];
  /** The kinds of pods that the maintenance leaves alone; absent for none. */
  readonly keep?: readonly KeptPods[];
}

/** The drains that target pods of the node (KEP-4212, "DaemonSet Controller" and "kubelet: Static Pods"). */
export function drainsOfNode(maintenances: readonly NodeMaintenance[], nodeName: string): readonly NodeDrain[] {
  return maintenances.flatMap((maintenance) => {
    if (stageOf(maintenance) !== 'Drain') return [];
    const status = nodeStatusOf(maintenance.status, nodeName);
    if (status?.drainTargets === undefined) return [];
    const { keepPods, reason = '' } = maintenance.spec;
    const keep = keepPods === undefined ? {} : { keep: keepPods };
    return [{ maintenance: maintenance.metadata.name, reason, drainTargets: status.drainTargets, ...keep }];
  });
}

/** Whether the maintenance drains and has begun to on this very Node object. */
export function isBegunOn(maintenance: NodeMaintenance, { metadata }: Node): boolean {
  return stageOf(maintenance) === 'Drain' && begunNode(maintenance.status, metadata) !== undefined;
}

/**
 * The drains that have begun on this very Node object and still select it. A throttled drain asks for no eviction, though it has
 * the targets that others have reached.
 */
export function drainingOn(maintenances: readonly NodeMaintenance[], node: Node): readonly NodeMaintenance[] {
  return maintenances.filter((each) => isBegunOn(each, node) && selectsNode(each, node));
}

/** What those drains target; nothing for a node that does not exist. */
export function drainsOn(maintenances: readonly NodeMaintenance[], node: Node | undefined): readonly NodeDrain[] {
  return node === undefined ? [] : drainsOfNode(drainingOn(maintenances, node), node.metadata.name);
}

/** Whether any of the drains targets the pod and does not keep it. */
export function covers(drains: readonly NodeDrain[], pod: DrainPod): boolean {
  return drains.some(({ drainTargets, keep = [] }) => targetsCover(drainTargets, pod) && !isKept(keep, pod));
}

/** Whether an agent that finds this under the name it wants takes it for its own of just now, whose answer was lost. */
export function isUsable(maintenance: NodeMaintenance, stage: 'Cordon' | 'Drain', nodeName: string): boolean {
  return agentNodeOf(maintenance) === nodeName && stageOf(maintenance) === stage && !hasDrained(maintenance, nodeName);
}
