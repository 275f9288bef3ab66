import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { Interceptor } from '../../../src/kube/eviction/interceptor.ts';
import { startNode } from '../../node/node.ts';
import { podSpec } from '../../node/pods.ts';
import { hasEnded } from '../../support/eviction/actors.ts';
import { buildEvictionRig, type EvictionRig, intercepts } from '../../support/rigs/eviction.ts';
import { eventually, SLOW, waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const DEPLOYMENT = 'deployment.apps.k8s.io';
const REPLICA_SET = 'replicaset.apps.k8s.io';
const WANTED = 3;
const MAX_SURGE = 2;

interface ReplicaSet {
  readonly spec: { readonly replicas: number };
  readonly status: { readonly availableReplicas?: number };
}

describe('Pod Surge Example of KEP-4563, on real nodes', () => {
  it('the drain moves pods to another node without ever having fewer than before', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await buildEvictionRig());
    const { kubectl } = rig.controlPlane;
    const signal = AbortSignal.timeout(200_000);
    await kubectl(['delete', 'node', 'node-z']);
    for (const name of ['node-x', 'node-y']) stack.use(await startNode(rig.controlPlane, name, signal));
    const seen: string[] = [];
    let surged = false;
    const marked = new Map<string, number>();

    const replicaSet = async (): Promise<ReplicaSet> =>
      JSON.parse(await kubectl(['get', 'rs', 'db', '-o', 'json'])) as ReplicaSet;
    const isAvailable = async (count: number): Promise<boolean> =>
      ((await replicaSet()).status.availableReplicas ?? 0) >= count;
    const scale = (replicas: number): Promise<string> => kubectl(['scale', 'rs', 'db', `--replicas=${replicas}`]);
    const podsOf = async (node: string): Promise<readonly Pod[]> => {
      const text = await kubectl(['get', 'pods', '-o', 'json', `--field-selector=spec.nodeName=${node}`]);
      return (JSON.parse(text) as { items: Pod[] }).items;
    };

    // Pods A: two on the node that will be drained, one elsewhere.
    const template = {
      metadata: {
        labels: { app: 'db' },
        annotations: { ...intercepts(DEPLOYMENT, 20_000), ...intercepts(REPLICA_SET, 10_000) },
      },
      spec: podSpec('db', { stopSec: 1 }),
    };
    const spec = { replicas: 2, selector: { matchLabels: { app: 'db' } }, template };
    await kubectl(['cordon', 'node-y']);
    await kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'db' }, spec }),
    );
    await waitFor('two pods', () => isAvailable(2), SLOW);
    await kubectl(['cordon', 'node-x']);
    await kubectl(['uncordon', 'node-y']);
    await scale(WANTED);
    await waitFor('three pods', () => isAvailable(WANTED), SLOW);
    await kubectl(['uncordon', 'node-x']);

    /** Creates the surge pods C, waits until they are available, and hands over; terminates nothing. */
    const deployment: Interceptor = {
      name: DEPLOYMENT,
      act: async () => {
        if (!surged) {
          seen.push('surge');
          await scale(WANTED + MAX_SURGE);
          surged = await isAvailable(WANTED + MAX_SURGE);
        }
        if (surged) return { kind: 'completed', message: 'The surge pods are available.' };
        return { kind: 'working', message: 'Waiting for the surge pods.', againMs: 200 };
      },
    };
    /** Deletes the pods that have a request, through the real ReplicaSet controller, which is told which pods. */
    const replicas: Interceptor = {
      name: REPLICA_SET,
      act: async (_request: EvictionRequest, pod: Pod) => {
        const { name } = pod.metadata;
        const markedAt = marked.get(name);
        if (markedAt === undefined) {
          await kubectl(['annotate', 'pod', name, 'controller.kubernetes.io/pod-deletion-cost=-100']);
          marked.set(name, Date.now());
        }
        // The ReplicaSet controller has to have seen the mark before it chooses.
        if (markedAt === undefined || Date.now() - markedAt < 2_000) {
          return { kind: 'working', message: 'Marked as the one to go.', againMs: 500 };
        }
        // It takes any of those that are marked.
        await scale(WANTED + MAX_SURGE - marked.size);
        return { kind: 'working', message: 'Scaling down.', againMs: 200 };
      },
    };
    stack.defer(async () => {
      await Promise.all(running.map((each) => each.stop()));
    });
    const running = [
      await rig.startController(),
      await rig.startInterceptor(deployment),
      await rig.startInterceptor(replicas),
    ];

    const leaving = await podsOf('node-x');
    assert.equal(leaving.length, 2);
    await drain(rig, 'node-x');
    const low: number[] = [];
    const allEvicted = async (): Promise<boolean> => {
      low.push((await replicaSet()).status.availableReplicas ?? 0);
      const requests = await Promise.all(leaving.map((pod) => rig.get(pod)));
      return requests.every((request) => request !== undefined && hasEnded('Evicted')(request));
    };
    await waitFor('both pods are evicted', allEvicted, SLOW);
    assert.ok(Math.min(...low) >= WANTED, `never fewer than ${WANTED}, but ${low.join(' ')}`);
    assert.equal(seen[0], 'surge', 'nothing is terminated before the surge');
    for (const pod of leaving) {
      const request = await rig.get(pod);
      const asked = (request?.status?.processedInterceptors ?? []).slice(0, 2);
      assert.deepEqual(asked, [DEPLOYMENT, REPLICA_SET]);
    }
    assert.equal((await replicaSet()).spec.replicas, WANTED, 'as many as before');
    // A pod that has ended is evicted; its object may be there a moment longer.
    await waitFor('node-x is empty', async () => (await podsOf('node-x')).length === 0, SLOW);
    await eventually(async () => {
      assert.equal((await podsOf('node-y')).length, WANTED);
    });
  });
});

/** What a person does to drain a node. */
async function drain(rig: EvictionRig, node: string): Promise<void> {
  const maintenance = drainOf('surge', [node]);
  await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
}
