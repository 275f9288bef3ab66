import type { LabelSelector } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

/** Selectors of every kind, by the labels `app` and `tier`. */
export const SELECTORS: readonly LabelSelector[] = [
  {},
  { matchLabels: {} },
  { matchLabels: { app: 'logger' } },
  { matchLabels: { app: 'logger', tier: 'none' } },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['other', 'logger'] }] },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['other'] }] },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['logger'] }] },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['logger'] }] },
  { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
  { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
  { matchLabels: { app: 'logger' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
];

/** The pods with the label app=NAME in the namespace default. */
export async function podsOf({ kubectl }: ControlPlane, name: string): Promise<readonly Pod[]> {
  const text = await kubectl(['get', 'pods', '-l', `app=${name}`, '-o', 'json']);
  return (JSON.parse(text) as { items: readonly Pod[] }).items;
}

/** A pod as the DaemonSet controller makes it for a node. */
export function podOfDaemonSet(
  labels: Record<string, string>,
  node: string,
  priorityClassName?: string,
  volumes: readonly object[] = [],
): object {
  const fields = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }];
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'x', uid: crypto.randomUUID(), controller: true };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: fields } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'x-', namespace: 'default', labels, ownerReferences: [owner] },
    spec: {
      affinity: { nodeAffinity: required },
      containers: [{ name: 'main', image: 'none.invalid/none' }],
      volumes,
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    },
  };
}

/** Writes the drain targets of a node into a maintenance, as its controller does. */
export async function setTargets(
  { kubectl }: ControlPlane,
  maintenance: string,
  node: string,
  drainTargets: readonly object[],
): Promise<void> {
  const status = { nodeStatuses: [{ nodeRef: { name: node }, drainTargets }] };
  const patch = JSON.stringify({ status });
  await kubectl(['patch', 'nm', maintenance, '--subresource=status', '--type=merge', '-p', patch]);
}

/** Says of a node what a kubelet would, so that the scheduler binds pods to it; `more` is the rest of its status. */
export async function sayOfNode({ kubectl }: ControlPlane, node: string, more: object = {}): Promise<void> {
  const room = { pods: '110', cpu: '8', memory: '8Gi' };
  const status = JSON.stringify({ status: { capacity: room, allocatable: room, ...more } });
  await kubectl(['patch', 'node', node, '--subresource=status', '-p', status]);
}

/** Deletes the objects of terminating pods, as the kubelet would that these tests do not have. */
export function startEndingPods({ kubectl }: ControlPlane): AsyncDisposable {
  const stopping = new AbortController();
  const endPods = async (): Promise<void> => {
    const text = await kubectl(['get', 'pods', '-o', 'json']);
    const { items } = JSON.parse(text) as { items: readonly Pod[] };
    const ended = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const names = ended.map(({ metadata }) => metadata.name);
    const force = ['--force', '--grace-period=0', '--wait=false', '--ignore-not-found'];
    if (names.length > 0) await kubectl(['delete', 'pods', ...names, ...force]);
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await endPods().catch((error: unknown) => {
        // The next round tries again: without it no later case would see a pod end.
        console.log(`terminating pods could not be deleted: ${String(error)}`);
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  };
  const running = loop();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
