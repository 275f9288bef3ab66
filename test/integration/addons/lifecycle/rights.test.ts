/** What the account of the controllers of `lifecycle.k8s.io` may do with a pod, and no more. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeRequest } from '../../../../src/kube/client.ts';
import { statusMessage } from '../../../../src/kube/resource.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import { installControllers, podBody } from '../../../support/rigs/lifecycle.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { startInstalledCluster } from '../../../support/commands/installed-cluster.ts';

const POD = '/api/v1/namespaces/default/pods/web';
const NEVER = new AbortController().signal;

function patched(body: object): KubeRequest {
  return { method: 'PATCH', path: `${POD}?dryRun=All`, body, patch: { kind: 'merge' } };
}

function evicted(deleteOptions: object): KubeRequest {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web' }, deleteOptions };
  return { method: 'POST', path: `${POD}/eviction?dryRun=All`, body };
}

const MARK = patched({ metadata: { annotations: { 'kubernetes.io/pod-evict-wanted': 'true' } } });

const REFUSED: readonly (readonly [string, KubeRequest, RegExp])[] = [
  ['sets a label', patched({ metadata: { labels: { app: 'x' } } }), /may change only their annotation/],
  ['sets another annotation', patched({ metadata: { annotations: { x: 'y' } } }), /only the annotation/],
  ['sets a finalizer', patched({ metadata: { finalizers: ['x.example.com/y'] } }), /may change only their annotation/],
  ['ends it by a deadline', patched({ spec: { activeDeadlineSeconds: 1 } }), /may change only their annotation/],
  ['evicts without a grace period', evicted({ gracePeriodSeconds: 0 }), /only with its own grace period/],
  ['evicts with another grace period', evicted({ gracePeriodSeconds: 1 }), /only with its own grace period/],
  ['deletes the pod', { method: 'DELETE', path: `${POD}?dryRun=All`, body: {} }, /cannot delete/],
];

describe('the account of the controllers of lifecycle.k8s.io', () => {
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let client: KubeClient;

  before(async () => {
    ({ controlPlane } = stack.use(await startInstalledCluster({}, AbortSignal.timeout(120_000))));
    client = createKubeClient(await loadClusterAccess(await installControllers(controlPlane)), 'test');
    stack.defer(() => {
      client.close();
    });
    await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(podBody('web', { namespace: 'default' })));
    const isInForce = async (): Promise<boolean> =>
      (await client.send(evicted({ gracePeriodSeconds: 0 }), NEVER)).status === 422 &&
      (await client.send(patched({ metadata: { labels: { app: 'x' } } }), NEVER)).status === 422;
    await waitFor('the policies are in force', isInForce);
  });

  after(async () => {
    await stack.disposeAsync();
  });

  it('the account marks a pod for its controller, and evicts it by its own grace period', async () => {
    const answers = [await client.send(MARK, NEVER), await client.send(evicted({}), NEVER)];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201],
      answers.map(statusMessage).join(),
    );
  });

  for (const [what, request, words] of REFUSED) {
    it(`the API server refuses that the account ${what}`, async () => {
      const answer = await client.send(request, NEVER);
      assert.ok(answer.status === 403 || answer.status === 422, `${answer.status}`);
      assert.match(statusMessage(answer), words);
    });
  }
});
