/** What other programs write to a node that a maintenance has, played on a real API server: cordons, uncordons, conditions. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Node } from '../../../src/api/pod.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

describe('a maintenance beside other programs', () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const node = async (): Promise<Node> => JSON.parse(await kubectl('get', 'node', NODE, '-o', 'json')) as Node;
  const isCordoned = async (): Promise<boolean> => (await node()).spec?.unschedulable === true;
  const start = async (name: string): Promise<void> => {
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(drainOf(name, [NODE])));
  };
  const isDrained = async (name: string): Promise<boolean> => {
    const path = 'jsonpath={.status.conditions[?(@.type=="Drained")].status}';
    return (await kubectl('get', 'nodemaintenance', name, '-o', path)) === 'True';
  };
  /** Completes and deletes it; the deletion waits for the end of its work. */
  const end = async (name: string): Promise<void> => {
    await kubectl('patch', 'nodemaintenance', name, '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
    await kubectl('delete', 'nodemaintenance', name, '--timeout=300s');
  };

  before(async () => {
    rig = stack.use(await buildEvictionRig());
    const controller = await rig.startController();
    stack.defer(() => controller.stop());
  });
  after(async () => {
    await stack.disposeAsync();
  });

  it('a node that kured had cordoned stays cordoned at the end of a maintenance, and kured uncordons it', async () => {
    await kubectl('cordon', NODE);
    // kured evicts, and its reboot is held: the agent makes a maintenance.
    await rig.createPod('evicted');
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', namespace: 'default' } };
    const path = '/api/v1/namespaces/default/pods/evicted/eviction';
    await rig.controlPlane.kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(eviction));
    await start('first');
    await rig.endPod('evicted');
    await waitFor('it is drained', () => isDrained('first'), SLOW);
    await end('first');
    assert.equal(await isCordoned(), true);
    await kubectl('uncordon', NODE);
    assert.equal(await isCordoned(), false);
  });

  it('a node that system-upgrade-controller uncordons in mid-drain is cordoned again, and is uncordoned once at the end', async () => {
    await rig.createPod('db');
    await start('third');
    await waitFor('the cordon', isCordoned, SLOW);
    await kubectl('uncordon', NODE);
    await waitFor('it is cordoned again', isCordoned, SLOW);
    await rig.endPod('db');
    await waitFor('it is drained', () => isDrained('third'), SLOW);
    await end('third');
    await waitFor('the node is uncordoned', async () => !(await isCordoned()), SLOW);
  });

  it('a condition of node-problem-detector stays beside those of a maintenance, and after it', async () => {
    const condition = {
      type: 'KernelDeadlock',
      status: 'True',
      reason: 'DockerHung',
      message: 'task docker:7 blocked',
    };
    const body = JSON.stringify({ status: { conditions: [condition] } });
    await kubectl('patch', 'node', NODE, '--subresource=status', '--type=strategic', '-p', body);
    const conditions = async (): Promise<Readonly<Record<string, string>>> => {
      const all = (await node()).status?.conditions ?? [];
      return Object.fromEntries(all.map(({ type, status }) => [type, status]));
    };
    await start('fourth');
    await waitFor('it is drained', async () => (await conditions())['Drained'] === 'True', SLOW);
    assert.equal((await conditions())['KernelDeadlock'], 'True');
    await end('fourth');
    await waitFor('the maintenance is over', async () => (await conditions())['Drained'] !== 'True', SLOW);
    assert.equal((await conditions())['KernelDeadlock'], 'True');
  });
});
