/** The objects of a cell: two nodes, its pods, their budget. */
import {
  CONTROLLER_TAKE_OVER,
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
} from '../../../src/api/names.ts';
import { intercepts } from '../../support/rigs/eviction.ts';
import type { Cell } from './cells.ts';

/** The interceptor that the test plays. */
export const INTERCEPTOR = 'matrix.example.com';
export const IN_BACKGROUND = { [EVICTION_IN_PROGRESS_ANNOTATION]: 'true' } as const;

const NODE_LABEL = 'matrix.example.com/cell';
const ROOM = { pods: '110', cpu: '8', memory: '8Gi' };
const TAKE_OVER = { [EVICT_POLICY_ANNOTATION]: CONTROLLER_TAKE_OVER };
const EVICT_ONLY = { [EVICT_ONLY_ANNOTATION]: '' };

/** The two nodes of a cell: the first one is drained. */
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

function podOf(id: string, name: string, annotations: object): object {
  const metadata = { name, namespace: id, labels: { app: 'matrix' }, annotations };
  const containers = [{ name: 'main', image: 'none.invalid/none' }];
  const spec = { tolerations: [{ operator: 'Exists' }], containers, nodeName: `${id}-a` };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec };
}

/** The pod of a cell. */
export function podFor(id: string, { sort }: Cell): object {
  const annotations = {
    takeover: TAKE_OVER,
    promise: EVICT_ONLY,
    none: {},
    interceptor: intercepts(INTERCEPTOR, 20_000),
  };
  return podOf(id, `${id}-${sort}`, annotations[sort]);
}
