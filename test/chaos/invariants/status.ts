import { begunNode } from '../../../src/decide/maintenance/recorded-node.ts';
import { MAINTENANCE_REQUESTER } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeStatus } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { targetsCover } from '../../../src/decide/maintenance/drain-plan.ts';
import { isInProgress, selectsNode, stageOf } from '../../../src/decide/maintenance/maintenance.ts';
import { drainPodOf, isTerminal } from '../../../src/decide/pod.ts';
import { REFUSED_LABEL } from '../objects.ts';
import type { ClusterPart } from '../world.ts';
import { isToCome } from './coverage.ts';
import { isDrained } from '../objects.ts';
import type { Violation } from './violation.ts';

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

/** The pods that a drain of the node takes. */
export function livePods(world: ClusterPart, node: string): readonly Pod[] {
  return world.pods().filter((pod) => pod.spec.nodeName === node && !isTerminal(pod));
}

/** Whether there is a request for the pod by which the drain asks. */
function isRequested(world: ClusterPart, pod: Pod): boolean {
  const request = world.requests().find(({ metadata }) => metadata.name === pod.metadata.uid);
  return request?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true;
}

function checkCounts(world: ClusterPart, status: NodeStatus): readonly string[] {
  const pods = livePods(world, status.nodeRef.name);
  const { podsPendingEvacuation: pending = 0, podsEvacuating: evacuating = 0, drainTargets = [] } = status;
  const covered = pods.filter((pod) => targetsCover(drainTargets, drainPodOf(pod)));
  const least = covered.filter((pod) => isRequested(world, pod)).length;
  const most = covered.filter((pod) => isRequested(world, pod) || pod.metadata.deletionTimestamp !== undefined).length;
  const wrong: string[] = [];
  if (pending + evacuating !== pods.length) wrong.push('the counts of a node are not the number of its pods');
  else if (evacuating < least) wrong.push('a node counts fewer evacuating pods than are requested');
  else if (evacuating > most) wrong.push('a node counts evacuating pods without a request');
  return wrong;
}

function checkBlocking(world: ClusterPart, status: NodeStatus): readonly string[] {
  const pods = livePods(world, status.nodeRef.name);
  const named = new Set((status.podsBlocking ?? []).map(({ namespace, name }) => `${namespace}/${name}`));
  const wrong: string[] = [];
  if (![...named].every((key) => pods.some((pod) => keyOf(pod) === key))) {
    wrong.push('a pod is named as blocking that is not on the node');
  }
  const silent = pods.filter((pod) => {
    const isTargeted = targetsCover(status.drainTargets ?? [], drainPodOf(pod));
    return isTargeted && pod.metadata.deletionTimestamp === undefined && !isRequested(world, pod);
  });
  if (silent.some((pod) => !named.has(keyOf(pod))))
    wrong.push('a targeted pod has no request and is not named as blocking');
  return wrong;
}

function checkDrain(world: ClusterPart, maintenance: NodeMaintenance): readonly string[] {
  const nodes = world.nodes().filter((node) => selectsNode(maintenance, node));
  const { nodeStatuses = [] } = maintenance.status ?? {};
  const told = new Set(nodeStatuses.map(({ nodeRef }) => nodeRef.name));
  const wrong: string[] = [];
  if (nodes.some(({ metadata }) => !told.has(metadata.name))) wrong.push('a selected node is not in the status');
  for (const status of nodeStatuses) {
    if (!nodes.some(({ metadata }) => metadata.name === status.nodeRef.name)) {
      wrong.push('a node is in the status that is not selected');
    } else wrong.push(...checkCounts(world, status), ...checkBlocking(world, status));
  }
  const saysDrained = isDrained(maintenance);
  const isEmpty = nodes.every(({ metadata }) => livePods(world, metadata.name).length === 0);
  if (nodes.length > 0 && saysDrained !== isEmpty) {
    wrong.push(
      saysDrained
        ? 'a maintenance is Drained and pods are left'
        : 'all pods are gone and the maintenance is not Drained',
    );
  }
  return wrong;
}

function checkNode(world: ClusterPart, node: Node): readonly string[] {
  if (node.metadata.labels?.[REFUSED_LABEL] !== undefined) return [];
  const active = world.maintenances().filter((each) => isInProgress(each) && selectsNode(each, node));
  const wrong: string[] = [];
  if (active.length > 0 && node.spec?.unschedulable !== true) wrong.push('a node under maintenance is not cordoned');
  const isTrue = (type: string): boolean | undefined => {
    const condition = node.status?.conditions?.find((each) => each.type === type);
    return condition?.reason === 'Foreign' ? undefined : condition?.status === 'True';
  };
  const begun = active.filter(
    (each) => stageOf(each) === 'Drain' && begunNode(each.status, node.metadata) !== undefined,
  );
  const drains = begun.length > 0;
  const isExpected = world.maintenances().some((each) => isToCome(each) && selectsNode(each, node));
  const isPlanned = active.length > begun.length || isExpected;
  const isEmpty = livePods(world, node.metadata.name).length === 0;
  const expected = {
    // While a drain is under way it stays what it was before.
    ...(isPlanned || active.length === 0 ? { MaintenancePlanned: isPlanned } : {}),
    MaintenanceInProgress: drains,
    DrainInProgress: drains && !isEmpty,
    Drained: drains && isEmpty,
  };
  for (const [type, wanted] of Object.entries(expected)) {
    const is = isTrue(type);
    if (is === undefined || is === wanted) continue;
    wrong.push(`the condition ${type} of a node is ${is ? 'True' : 'not True'} and should ${wanted ? '' : 'not '}be`);
  }
  return wrong;
}

/** Compares what the statuses say with what is there; nothing must have moved for a while. */
export function checkStatus(world: ClusterPart): Violation[] {
  const ofMaintenances = world.maintenances().flatMap((maintenance) => {
    const wrong = stageOf(maintenance) === 'Drain' ? checkDrain(world, maintenance) : [];
    const detail = `${maintenance.metadata.name}: ${JSON.stringify(maintenance.status)}`;
    return wrong.map((what): Violation => ({ invariant: 'status', what, detail }));
  });
  const ofNodes = world.nodes().flatMap((node) => {
    const detail = `${node.metadata.name}: ${JSON.stringify(node.status?.conditions)}`;
    return checkNode(world, node).map((what): Violation => ({ invariant: 'status', what, detail }));
  });
  return [...ofMaintenances, ...ofNodes];
}
