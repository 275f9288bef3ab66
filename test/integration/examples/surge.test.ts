import assert from 'node:assert/strict';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { startProgram } from '../../control-plane/process.ts';
import { buildEvictionRig, type EvictionRig, intercepts } from '../../support/rigs/eviction.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const EXAMPLE = path.join(import.meta.dirname, '..', '..', '..', 'examples', 'surge');
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'];

/** A Deployment of one pod that must always be there: its budget allows no eviction. */
function guarded(name: string, progressDeadlineSeconds: number): readonly object[] {
  const metadata = { name, namespace: 'shop' };
  const labels = { app: name };
  const template = {
    metadata: { labels, annotations: intercepts('surge.example.com', 10_000) },
    spec: { containers: [{ name: 'main', image: 'none.invalid/none' }] },
  };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const spec = { replicas: 1, progressDeadlineSeconds, selector: { matchLabels: labels }, strategy, template };
  return [
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata,
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    },
  ];
}

/** Plays the kubelets of the nodes: pods that are bound to one are ready, and pods that are to end are gone. */
async function playKubelets({ controlPlane: { kubectl } }: EvictionRig, signal: AbortSignal): Promise<void> {
  const heartbeat = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' };
  while (!signal.aborted) {
    for (const node of ['node-a', 'node-b']) {
      const lastHeartbeatTime = new Date().toISOString();
      const status = { allocatable: { pods: '9', cpu: '9' }, conditions: [{ ...heartbeat, lastHeartbeatTime }] };
      await kubectl(['patch', 'node', node, '--subresource=status', '-p', JSON.stringify({ status })]);
    }
    const { items } = JSON.parse(await kubectl(['get', 'pods', '-n', 'shop', '-o', 'json'])) as { items: Pod[] };
    for (const { metadata, spec, status } of items.filter((pod) => pod.spec.nodeName !== undefined)) {
      const pod = ['pod', metadata.name, '-n', 'shop'];
      const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' }));
      const running = JSON.stringify({ status: { phase: 'Running', conditions } });
      if (metadata.deletionTimestamp !== undefined) await kubectl(['delete', ...pod, '--force', '--ignore-not-found']);
      else if (status?.phase !== 'Running' && spec.nodeName !== undefined)
        await kubectl(['patch', ...pod, '--subresource=status', '-p', running]);
    }
  }
}

describe('the example of an interceptor that restarts the rollout of a Deployment', () => {
  it('the only pod of a Deployment leaves when another one is ready, and is left to the Eviction API where none becomes ready', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildEvictionRig();
    stack.defer(() => rig[Symbol.asyncDispose]());
    const { kubectl, kubeconfigFor } = rig.controlPlane;
    const apply = (object: object): Promise<string> => kubectl(['apply', '-f', '-'], JSON.stringify(object));
    for (const name of ['node-a', 'node-b']) await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const ending = new AbortController();
    const kubelets = playKubelets(rig, ending.signal);
    stack.defer(async () => {
      ending.abort();
      await kubelets;
    });
    await rig.startController();
    await kubectl(['create', 'namespace', 'shop']);
    await kubectl(['apply', '-f', path.join(EXAMPLE, 'rights.yaml')]);
    const kubeconfig = await kubeconfigFor('system:serviceaccount:shop:surge', GROUPS);
    const command = [process.execPath, path.join(EXAMPLE, 'surge.ts')] as const;
    const program = stack.use(startProgram(command, path.join(rig.folder, 'surge.log'), { KUBECONFIG: kubeconfig }));

    const podsOf = async (name: string): Promise<readonly Pod[]> =>
      (JSON.parse(await kubectl(['get', 'pods', '-n', 'shop', '-l', `app=${name}`, '-o', 'json'])) as { items: Pod[] })
        .items;
    const available = async (name: string): Promise<number> =>
      Number(await kubectl(['get', 'deployment', name, '-n', 'shop', '-o', 'jsonpath={.status.availableReplicas}']));
    /** Makes the Deployment, waits for its pod, and drains the node of it. */
    const drainedPod = async (name: string, progressSeconds: number): Promise<Pod> => {
      for (const object of guarded(name, progressSeconds)) await apply(object);
      await waitFor('the pod runs', async () => (await available(name)) === 1, SLOW);
      const [pod] = await podsOf(name);
      assert.ok(pod?.spec.nodeName);
      await apply(drainOf(name, [pod.spec.nodeName], { reason: 'test' }));
      return pod;
    };

    const web = await drainedPod('web', 600);
    const drained = 'jsonpath={.status.conditions[?(@.type=="Drained")].status}';
    const counts: number[] = [];
    const isDrained = async (): Promise<boolean> => {
      counts.push(await available('web'));
      return (await kubectl(['get', 'nm', 'web', '-o', drained])) === 'True';
    };
    await waitFor('the node is drained', isDrained, { ...SLOW, program });
    assert.ok(
      counts.every((count) => count > 0),
      `available pods: ${counts.join(' ')}`,
    );
    const left = (await podsOf('web')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const found = left.map(({ spec }) => spec.nodeName);
    assert.deepEqual(
      found,
      ['node-a', 'node-b'].filter((name) => name !== web.spec.nodeName),
    );
    const revision = await kubectl(['get', 'rs', '-n', 'shop', '-l', 'app=web', '-o', 'name']);
    assert.equal(revision.trim().split('\n').length, 2, 'the rollout was restarted once');

    // No other node takes a pod: after its progress deadline the rollout is given up.
    await kubectl(['cordon', web.spec.nodeName ?? '']);
    const api = await drainedPod('api', 5);
    const active = async (): Promise<boolean> =>
      (await rig.get(api))?.status?.activeInterceptors?.[0] === 'imperative-eviction.k8s.io';
    await waitFor('the Eviction API has its turn', active, { ...SLOW, program });
    assert.ok((await podsOf('api')).some(({ metadata }) => metadata.uid === api.metadata.uid));
  });
});
