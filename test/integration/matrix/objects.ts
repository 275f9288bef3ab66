/** The objects of a cell: two nodes, its pods, their budget. */
import {
  CONTROLLER_TAKE_OVER,
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
} from '../../../src/api/names.ts';
import { podGroupApi, releaseOf } from '../../control-plane/releases.ts';
import { intercepts } from '../../support/rigs/eviction.ts';
import { A } from '../lifecycle/scene.ts';
import { type Cell, isGrouped } from './cells.ts';

/** The interceptor that `nodemaint surge` plays. */
const SURGE_INTERCEPTOR = 'surge.nodemaintenance.x-k8s.io';
/** The interceptor that the test plays in the older dialect. */
export const INTERCEPTOR = 'matrix.example.com';
/** The responder that it plays in the newer one. */
export const RESPONDER = A;
/** The API of PodGroups. */
export const GROUP_API = podGroupApi(releaseOf('1.37'));
export const IN_BACKGROUND = { [EVICTION_IN_PROGRESS_ANNOTATION]: 'true' } as const;

const NODE_LABEL = 'matrix.example.com/cell';
const ROOM = { pods: '110', cpu: '8', memory: '8Gi' };
const TAKE_OVER = { [EVICT_POLICY_ANNOTATION]: CONTROLLER_TAKE_OVER };
const EVICT_ONLY = { [EVICT_ONLY_ANNOTATION]: '' };

/** The two nodes of a cell: the first one is drained, unless a Deployment has its pod on the other one. */
export function nodesOf(id: string): readonly object[] {
  return ['a', 'b'].map((end) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `${id}-${end}`, labels: { [NODE_LABEL]: id } },
    status: { capacity: ROOM, allocatable: ROOM },
  }));
}

/** A budget that lets all pods of the cell go, or none. */
export function budgetOf(id: string, isOpen: boolean): object {
  const selector = { matchLabels: { app: 'matrix' } };
  const unhealthyPodEvictionPolicy = isOpen ? 'AlwaysAllow' : 'IfHealthyBudget';
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'matrix', namespace: id },
    spec: { minAvailable: isOpen ? 0 : 1_000, selector, unhealthyPodEvictionPolicy },
  };
}

/** What every pod of the tests is. */
function podSpec(more: object): object {
  const containers = [{ name: 'main', image: 'none.invalid/none' }];
  return { tolerations: [{ operator: 'Exists' }], containers, ...more };
}

function podOf(id: string, name: string, annotations: object, more: object = {}): object {
  const metadata = { name, namespace: id, labels: { app: 'matrix' }, annotations };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec({ nodeName: `${id}-a`, ...more }) };
}

/** The group and its pods: with the mode single one of each kind of others who can end a pod, with the mode all one in the background. */
function groupOf(id: string, mode: 'single' | 'all'): readonly object[] {
  const spec = { schedulingPolicy: { gang: { minCount: 1 } }, disruptionMode: { [mode]: {} } };
  const group = { apiVersion: GROUP_API, kind: 'PodGroup', metadata: { name: 'group', namespace: id }, spec };
  const more = { schedulingGroup: { podGroupName: 'group' } };
  const plain = podOf(id, `${id}-plain`, {}, more);
  if (mode === 'all') return [group, plain, podOf(id, `${id}-other`, {}, more)];
  const others = [podOf(id, `${id}-takeover`, TAKE_OVER, more), podOf(id, `${id}-promise`, EVICT_ONLY, more)];
  return [group, plain, ...others];
}

/** A Deployment of one pod that gets another one before it is evicted. */
function deploymentOf(id: string): object {
  const labels = { app: 'matrix' };
  const metadata = { labels, annotations: intercepts(SURGE_INTERCEPTOR, 10_000) };
  const template = { metadata, spec: podSpec({ nodeSelector: { [NODE_LABEL]: id } }) };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, strategy, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'surge', namespace: id, labels }, spec };
}

/** The pods of a cell, and what they are of. */
export function podsOf(id: string, cell: Cell): readonly object[] {
  const { sort, dialect } = cell;
  if (sort === 'single' || sort === 'all') return groupOf(id, sort);
  if (sort === 'surge') return [deploymentOf(id)];
  if (sort === 'interceptor') {
    const responders = { evictionResponders: [{ name: RESPONDER, priority: 1_000 }] };
    if (dialect === 'newer') return [podOf(id, `${id}-pod`, {}, responders)];
    return [podOf(id, `${id}-pod`, intercepts(INTERCEPTOR, 20_000))];
  }
  const annotations = { takeover: TAKE_OVER, promise: EVICT_ONLY, none: {} }[sort];
  return [podOf(id, `${id}-${sort}`, annotations)];
}

/** How many pods the cell has at the beginning. */
export function podCount(cell: Cell): number {
  if (!isGrouped(cell)) return 1;
  return cell.sort === 'single' ? 3 : 2;
}
