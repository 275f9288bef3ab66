import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HELD_FOR_LABEL, MAINTENANCE_GATE } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import { createKubeClient, type KubeRequest } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { collectionPath, DAEMON_SETS, objectPath, PODS } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import { withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { daemonSet } from '../../node/pods.ts';
import { setTargets } from '../../support/rigs/daemon-set.ts';
import { installManifests } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const NODE = 'node-a';
const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-agent-release';
const IN = collectionPath(PODS, 'default');
const HELD = `${IN}?labelSelector=${encodeURIComponent(`${HELD_FOR_LABEL}=${NODE}`)}`;

/** A pod of no DaemonSet, which the gate of another program holds. */
const FOREIGN = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'foreign', namespace: 'default', labels: { [HELD_FOR_LABEL]: NODE } },
  spec: {
    schedulingGates: [{ name: 'example.com/quota' }],
    containers: [{ name: 'main', image: 'none.invalid/none' }],
  },
};

const skip = withoutMutatingPolicies('no pod is gated');

describe('the right of a node to release gated DaemonSet pods', { skip }, () => {
  it('a node may release pods that our gate holds and no drain targets, and change nothing else', async () => {
    await using stack = new AsyncDisposableStack();
    const controlPlane = stack.use(await startControlPlane({}, AbortSignal.timeout(120_000)));
    const { kubectl } = controlPlane;
    await installManifests(controlPlane);
    const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    stack.defer(client.close);
    const apply = (object: object): Promise<string> => kubectl(['create', '-f', '-'], JSON.stringify(object));
    const answer = async (method: KubeRequest['method'], path: string, as?: string): Promise<string> => {
      const request = { method, path, ...(as === undefined ? {} : { as }) };
      const response = await client.send(request, AbortSignal.timeout(10_000));
      return response.status === 200 ? 'done' : statusMessage(response);
    };
    const pods = async (): Promise<readonly Pod[]> =>
      (JSON.parse(await kubectl(['get', 'pods', '-o', 'json'])) as { items: readonly Pod[] }).items;

    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
    await apply(drainOf('m', [NODE]));
    await setTargets(controlPlane, 'm', NODE, [{ podType: 'DaemonSet', podPriority: 1000 }]);
    await apply(daemonSet('logger'));
    await waitFor('the gate holds the pod', async () => {
      const all = await pods();
      // One that was made before the policy knew the maintenance.
      if (all.some((pod) => !isGated(pod))) await kubectl(['delete', 'pods', '--all', '--force', '--grace-period=0']);
      return all.length === 1 && all.every(isGated);
    });
    const [held] = await pods();
    assert.equal(held?.metadata.labels?.[HELD_FOR_LABEL], NODE);
    const one = objectPath(PODS, held.metadata);

    assert.match(await answer('DELETE', HELD), /cannot deletecollection resource "pods"/, 'as itself');
    const controller = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
    assert.match(await answer('DELETE', HELD, controller), /cannot impersonate/);
    assert.match(await answer('GET', IN, ACCOUNT), /cannot list resource "pods"/);
    assert.match(await answer('DELETE', one, ACCOUNT), /cannot delete resource "pods"/);
    assert.equal(await answer('GET', collectionPath(DAEMON_SETS), ACCOUNT), 'done');
    assert.match(await answer('GET', '/api/v1/namespaces', ACCOUNT), /cannot list resource "namespaces"/);
    await waitFor('the drain keeps it', async () =>
      /whose DaemonSet pods a maintenance drains/.test(await answer('DELETE', HELD, ACCOUNT)),
    );
    assert.equal((await pods()).length, 1);

    await kubectl(['patch', 'nm', 'm', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}']);
    await waitFor('it may go', async () => (await answer('DELETE', HELD, ACCOUNT)) === 'done');
    await waitFor('its DaemonSet makes it anew', async () => (await pods()).some((pod) => !isGated(pod)));
    await kubectl(['delete', 'daemonset', 'logger', '--cascade=foreground']);

    await apply(FOREIGN);
    const refused = /may only delete pods that the gate of a maintenance keeps from starting/;
    assert.match(await answer('DELETE', HELD, ACCOUNT), refused);
    await kubectl(['patch', 'nm', 'm', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await kubectl(['delete', 'nm', 'm']);
    assert.match(await answer('DELETE', HELD, ACCOUNT), refused, 'without any maintenance too');
    assert.equal((await pods()).length, 1);

    await kubectl(['delete', 'pod', 'foreign', '--force', '--grace-period=0']);
    await apply({
      ...FOREIGN,
      metadata: { name: 'nameless', namespace: 'default' },
      spec: { ...FOREIGN.spec, schedulingGates: [{ name: MAINTENANCE_GATE }] },
    });
    assert.match(await answer('DELETE', IN, ACCOUNT), /with the label nodemaintenance.x-k8s.io\/held-for/);
    await kubectl(['delete', 'pod', 'nameless', '--force', '--grace-period=0']);

    // As in the seconds after every start of an API server, before it knows the kinds of CRDs; here for good.
    await kubectl(['delete', 'crd', 'nodemaintenances.nodemaintenance.x-k8s.io']);
    await controlPlane.stopApiServer();
    await controlPlane.startApiServer();
    await apply({ ...FOREIGN, metadata: { name: 'bystander', namespace: 'default' } });
    await kubectl(['delete', 'pod', 'bystander', '--force', '--grace-period=0']);
    // Any user may give a pod the label: the label must keep no user from deleting the pod.
    await apply(FOREIGN);
    assert.match(await answer('DELETE', HELD, ACCOUNT), refused, 'the account may do no more than before');
    await kubectl(['delete', 'pod', 'foreign', '--force', '--grace-period=0']);
  });
});
