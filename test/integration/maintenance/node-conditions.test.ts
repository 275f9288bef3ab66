import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Node } from '../../../src/api/pod.ts';
import { NODES, objectPath } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const NEVER = new AbortController().signal;
const OTHER = 'node-other';
const TYPES = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'];

describe('the conditions of a node under maintenance, on a real API server with the shipped policies', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: OTHER } });
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const stage = async (name: string, node: string, to: string): Promise<void> => {
    await apply(maintenanceOf({ stage: to, nodeSelector: byName(node) }, { name }));
  };
  const nodeOf = async (name: string): Promise<Node | undefined> =>
    await sendForObject<Node>(rig.client, { method: 'GET', path: objectPath(NODES, { name }) }, [], NEVER);
  const untilTrue = async (name: string, ...expected: readonly string[]): Promise<Node> => {
    let node: Node | undefined;
    await waitFor(`node ${name} has ${expected.join(', ') || 'none of them'}`, async () => {
      node = await nodeOf(name);
      const conditions = node?.status?.conditions ?? [];
      const truths = TYPES.filter((type) => conditions.some((each) => each.type === type && each.status === 'True'));
      return truths.join() === expected.join();
    });
    assert.ok(node !== undefined);
    return node;
  };

  it('a maintenance is planned on its node from the stage Idle on until it is over, and in progress only while it drains', async () => {
    const controller = await rig.startController();
    await rig.createPod('web');
    await stage('m', NODE, 'Idle');
    const idle = await untilTrue(NODE, 'MaintenancePlanned');
    assert.equal(idle.spec?.unschedulable, undefined);
    const ours = Object.keys(idle.metadata.annotations ?? {}).filter((key) => key.includes('nodemaint'));
    assert.deepEqual(ours, []);
    await stage('m', NODE, 'Cordon');
    await waitFor('the cordon', async () => (await nodeOf(NODE))?.spec?.unschedulable === true);
    await untilTrue(NODE, 'MaintenancePlanned');
    await stage('m', NODE, 'Drain');
    await untilTrue(NODE, 'MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress');
    await rig.endPod('web');
    await untilTrue(NODE, 'MaintenancePlanned', 'MaintenanceInProgress', 'Drained');
    await stage('m', NODE, 'Complete');
    await untilTrue(NODE);
    await rig.controlPlane.kubectl(['delete', 'nm', 'm', '--timeout=300s']);

    await stage('called-off', NODE, 'Idle');
    await untilTrue(NODE, 'MaintenancePlanned');
    await controller.stop();
    await rig.controlPlane.kubectl(['delete', 'nm', 'called-off', '--timeout=300s']);
    const next = await rig.startController();
    await untilTrue(NODE);
    await next.stop();
  });

  it('a drain that waits for its turn is planned, and no controller of workloads is told that its pods leave', async () => {
    const controller = await rig.startController({ maxParallelNodes: '1' });
    await rig.createPod('first');
    await rig.createPod('second', {}, { nodeName: OTHER });
    await stage('one', NODE, 'Drain');
    await untilTrue(NODE, 'MaintenanceInProgress', 'DrainInProgress');
    await stage('two', OTHER, 'Drain');
    await untilTrue(OTHER, 'MaintenancePlanned');
    await rig.controlPlane.kubectl(['delete', 'nm', 'one', '--timeout=300s']);
    await untilTrue(NODE);
    await untilTrue(OTHER, 'MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress');
    await rig.controlPlane.kubectl(['delete', 'nm', 'two', '--timeout=300s']);
    await untilTrue(OTHER);
    await controller.stop();
  });
});
