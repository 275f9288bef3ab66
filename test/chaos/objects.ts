import { INTERCEPTOR_ANNOTATION_PREFIXES, MIRROR_ANNOTATION } from '../../src/api/names.ts';
import { DRAINED, type NodeMaintenance } from '../../src/api/node-maintenance.ts';
import type { ClusterPart } from './world.ts';

/** The label of nodes of which an admission policy refuses changes by the controller. */
export const REFUSED_LABEL = 'chaos.example/refused';
/** The interceptor that the test plays. */
export const ACTOR = 'actor.chaos.example';
/** A finalizer of somebody else's. */
export const FOREIGN_FINALIZER = 'chaos.example/hold';
/** A label that is on every object of a history. */
export const HISTORY_LABEL = 'chaos.example/history';

/** Whether the maintenance says that its pods have left. */
export function isDrained({ status: told }: NodeMaintenance): boolean {
  return told?.conditions?.some(({ type, status }) => type === DRAINED && status === 'True') === true;
}

/** The kinds of pods that histories make. */
export const POD_SORTS = [
  'plain',
  'intercepted',
  'no labels',
  'long grace',
  'low priority',
  'high priority',
  'critical',
  'finalizer',
] as const;
export type PodSort = (typeof POD_SORTS)[number];

const CONTAINERS = [{ name: 'main', image: 'none.invalid/none' }];
const TOLERATIONS = [{ operator: 'Exists' }];

/** PriorityClasses that the histories use beside the built-in ones. */
export const PRIORITY_CLASSES = [
  { name: 'chaos-lowest', value: -2_147_483_648 },
  { name: 'chaos-highest', value: 1_000_000_000 },
].map(({ name, value }) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  preemptionPolicy: 'Never',
}));

/** A node as a kubelet registers it. */
export function nodeObject(world: Pick<ClusterPart, 'id' | 'namespaces'>, name: string): object {
  const room = { pods: '110', cpu: '8', memory: '8Gi' };
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready', ...times };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [HISTORY_LABEL]: world.id } },
    status: { capacity: room, allocatable: room, conditions: [ready] },
  };
}

const SORTS: Readonly<Record<PodSort, { readonly metadata?: object; readonly spec?: object }>> = {
  plain: {},
  intercepted: { metadata: { annotations: { [`${INTERCEPTOR_ANNOTATION_PREFIXES[0]}${ACTOR}`]: '1000/controller' } } },
  'no labels': { metadata: { labels: {} } },
  'long grace': { spec: { terminationGracePeriodSeconds: 10_000_000_000_000 } },
  'low priority': { spec: { priorityClassName: 'chaos-lowest' } },
  'high priority': { spec: { priorityClassName: 'chaos-highest' } },
  critical: { spec: { priorityClassName: 'system-node-critical' } },
  finalizer: { metadata: { finalizers: [FOREIGN_FINALIZER] } },
};

/** A pod that is bound to a node already. */
export function podObject(sort: PodSort, name: string, namespace: string, node: string): object {
  const { metadata, spec } = SORTS[sort];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'chaos', pod: name }, ...metadata },
    spec: { nodeName: node, tolerations: TOLERATIONS, containers: CONTAINERS, ...spec },
  };
}

/** The mirror pod of a static pod, as the kubelet makes it. */
export function mirrorPodObject(name: string, namespace: string, node: string): object {
  const annotations = {
    [MIRROR_ANNOTATION]: 'x',
    'kubernetes.io/config.hash': 'x',
    'kubernetes.io/config.source': 'file',
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations, labels: { app: 'static' } },
    spec: {
      nodeName: node,
      tolerations: TOLERATIONS,
      containers: CONTAINERS,
      priorityClassName: 'system-node-critical',
    },
  };
}

/** A DaemonSet with a pod on each node of the history. */
export function daemonSetObject(
  world: Pick<ClusterPart, 'id' | 'namespaces'>,
  name: string,
  priorityClassName: string,
): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: world.namespaces[0] },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { [HISTORY_LABEL]: world.id },
          tolerations: TOLERATIONS,
          containers: CONTAINERS,
          priorityClassName,
        },
      },
    },
  };
}

/** A budget over the pods of the history, which lets all of them or none be evicted. */
export function budgetObject(namespace: string, state: 'open' | 'closed'): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'chaos', namespace },
    spec: {
      minAvailable: state === 'open' ? 0 : 1_000,
      selector: { matchLabels: { app: 'chaos' } },
      // A pod that is not ready yet, on a busy machine, would be kept by an open budget too.
      unhealthyPodEvictionPolicy: state === 'open' ? 'AlwaysAllow' : 'IfHealthyBudget',
    },
  };
}
