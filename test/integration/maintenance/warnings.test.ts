import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKubeClient, type KubeClient, type KubeResponse } from '../../../src/kube/client.ts';
import { MAINTENANCE_WEBHOOK_PATH } from '../../../src/controller/webhook/server.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { freePort } from '../../control-plane/port.ts';
import { assertAllowed } from '../../support/rigs/admission.ts';
import { buildEvictionRig, type EvictionRig, NODE, type Running } from '../../support/rigs/eviction.ts';
import {
  createMaintenance,
  deleteMaintenance,
  madeMaintenance,
  patchMaintenance,
} from '../../support/maintenance/calls.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';

const CONFIGURATION = 'validatingwebhookconfiguration/nodemaint-webhook';
const DANGER = 'the cluster may get into a degraded and unrecoverable state';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

/** What the API server warns of, beside its answer. */
function warningsOf(response: KubeResponse): string {
  return String(response.headers['warning'] ?? '').replaceAll('\\"', '"');
}

describe('the warnings of a real API server that asks the controller', () => {
  let rig: EvictionRig;
  let controller: Running;
  const warned = async (...names: readonly string[]): Promise<string> => {
    const response = await createMaintenance(rig.client, maintenanceOf({ nodeSelector: byName(...names) }), 'dryRun');
    assertAllowed(response);
    return warningsOf(response);
  };
  const untilWarned = async (words: string, names: readonly string[]): Promise<void> => {
    const what = `a maintenance of ${names.join()} is warned of: ${words}`;
    const ask = async (): Promise<boolean> => (await warned(...names)).includes(words);
    await waitFor(what, ask);
  };

  before(async () => {
    rig = await buildEvictionRig();
    const { kubectl } = rig.controlPlane;
    for (const [name, labels] of Object.entries({ 'cp-1': { [CONTROL_PLANE]: '' }, 'w-1': {} })) {
      await kubectl(
        ['apply', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }),
      );
    }
    const port = await freePort();
    const url = `https://127.0.0.1:${port}${MAINTENANCE_WEBHOOK_PATH}`;
    const patch = [
      { op: 'remove', path: '/webhooks/1/clientConfig/service' },
      { op: 'add', path: '/webhooks/1/clientConfig/url', value: url },
    ];
    await kubectl(['patch', CONFIGURATION, '--type=json', '-p', JSON.stringify(patch)]);
    controller = await rig.startController({ webhookPort: String(port), webhookHost: '127.0.0.1' });
    await untilWarned('nothing will be done', ['w-9']);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('the API server warns of a maintenance that selects no node, and makes it all the same', async () => {
    const body = maintenanceOf({ nodeSelector: byName('w-9') });
    const response = await createMaintenance(rig.client, body);
    assert.equal(response.status, 201);
    assert.match(warningsOf(response), /does not select any of the 3 nodes that the cluster has now/);
    assertAllowed(await deleteMaintenance(rig.client, body.metadata.name));
  });

  it('the API server warns of a maintenance that selects all nodes or all control plane nodes, and of no other', async () => {
    assert.ok((await warned('cp-1', 'w-1', NODE)).includes(`selects all 3 nodes of the cluster: ${DANGER}`));
    assert.ok((await warned('cp-1')).includes(`selects the only control plane node of the cluster: ${DANGER}`));
    assert.equal(await warned('w-1'), '');
    assert.equal(await warned('w-1', NODE), '');
  });

  it('kubectl shows the warnings', async () => {
    const output = await rig.controlPlane
      .kubectl(['create', '--warnings-as-errors', '--dry-run=server', '-f', '-'], JSON.stringify(maintenanceOf()))
      .catch((error: unknown) => String(error));
    assert.match(output, /Warning: the nodeSelector does not select any of the 3 nodes/);
  });

  it('the warnings come again when the stage is changed, and not at another change or at Complete', async () => {
    const name = await madeMaintenance(rig.client, { nodeSelector: byName('w-9') });
    const change = async (spec: object): Promise<string> =>
      warningsOf(await patchMaintenance(rig.client, name, { spec }));
    assert.equal(await change({ reason: 'another' }), '');
    assert.match(await change({ stage: 'Cordon' }), /does not select any/);
    assert.equal(await change({ stage: 'Complete' }), '');
    assertAllowed(await deleteMaintenance(rig.client, name));
  });

  it('the API server asks for no warnings about maintenances of nodes, which no person reads', async () => {
    const node = await rig.controlPlane.kubeconfigFor('system:node:w-9', ['system:nodes']);
    const client: KubeClient = createKubeClient(await loadClusterAccess(node), 'test');
    const response = await createMaintenance(client, ownMaintenanceOf('w-9'), 'dryRun');
    client.close();
    assert.equal(response.status, 201);
    assert.equal(warningsOf(response), '');
  });

  it('the warnings follow the nodes of the cluster', async () => {
    await rig.controlPlane.kubectl(['delete', 'node', 'w-1']);
    await untilWarned(`selects all 2 nodes of the cluster: ${DANGER}`, ['cp-1', NODE]);
  });

  it('the API server accepts everything without warnings when no controller is alive', async () => {
    await controller.stop();
    assert.equal(await warned('w-9'), '');
  });
});
