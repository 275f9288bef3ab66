import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BOOT_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { daemonSet } from '../../node/pods.ts';
import { podsOf, sayOfNode } from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';
import { createAsNode } from '../../support/maintenance/node-writes.ts';
import { ownMaintenanceOf } from '../../support/maintenance/objects.ts';

/** The API server goes away in the middle of a shutdown, and comes back when the machine was booted. */
describe('a shutdown whose machine was booted before the controller could see it', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(() => rig[Symbol.asyncDispose]());

  const kubectl = (args: readonly string[], input?: string): Promise<string> => rig.controlPlane.kubectl(args, input);
  const shutdown = ownMaintenanceOf(NODE, { annotations: { [BOOT_ANNOTATION]: 'first' } });
  const sayBoot = (bootID: string): Promise<void> => sayOfNode(rig.controlPlane, NODE, { nodeInfo: { bootID } });
  const maintenance = async (): Promise<NodeMaintenance> =>
    JSON.parse(await kubectl(['get', 'nm', shutdown.metadata.name, '-o', 'json'])) as NodeMaintenance;

  it('the controller takes no pod away any more, releases everything, and completes the maintenance', async () => {
    await sayBoot('first');
    await kubectl(['apply', '-f', '-'], JSON.stringify(daemonSet('logger')));
    await waitFor('the pod is bound', async () =>
      (await podsOf(rig.controlPlane, 'logger')).some((pod) => pod.spec.nodeName === NODE),
    );
    const [pod] = await podsOf(rig.controlPlane, 'logger');
    assert.ok(pod);
    // One that ends on its own time: the DaemonSet's turn has not come when the API server goes away.
    const web = await rig.createPod('web');
    await createAsNode(rig.controlPlane, NODE, shutdown);
    const first = await rig.startController();
    await rig.waitFor(web, 'its eviction is requested', () => true);
    const cordoned = ['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'];
    await eventually(async () => {
      assert.equal(await kubectl(cordoned), 'true');
    });
    await first.stop();
    await rig.endPod('web');
    await sayBoot('second');

    const second = await rig.startController();
    await waitFor('it is complete', async () => {
      const {
        spec,
        status,
        metadata: { finalizers = [] },
      } = await maintenance();
      const stages = status?.stageStatuses?.map(({ name }) => name).join(' ');
      return spec.stage === 'Complete' && stages === 'Drain Complete' && finalizers.length === 0;
    });
    await waitFor('the node is uncordoned', async () => (await kubectl(cordoned)) === '');
    await waitFor('no request is left', async () => (await rig.get(web)) === undefined);
    const [same] = await podsOf(rig.controlPlane, 'logger');
    assert.deepEqual([same?.metadata.uid, same?.metadata.deletionTimestamp], [pod.metadata.uid, undefined]);
    assert.equal(await rig.get(pod), undefined, 'nobody has asked for its eviction');
    await second.stop();
  });
});
