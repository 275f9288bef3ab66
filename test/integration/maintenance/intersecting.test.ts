import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { describeEntry } from '../../../src/decide/maintenance/drain-plan.ts';
import { buildEvictionRig, type EvictionRig, type Running } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const PRIORITIES = [2000, 5000, 10_000, 15_000];

describe('KEP-4212, "Pod Selection and DrainTargets Example", on a real API server', () => {
  let rig: EvictionRig;
  let controller: Running;
  before(async () => {
    rig = await buildEvictionRig();
    controller = await rig.startController();
    for (const value of PRIORITIES) {
      const priorityClass = {
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name: `p${value}` },
      };
      await apply({ ...priorityClass, value });
    }
    const pods: Record<string, Record<number, number>> = {
      one: { 5000: 2, 10_000: 3, 15_000: 1 },
      two: { 5000: 1, 15_000: 2 },
      three: { 10_000: 2, 15_000: 1 },
      four: { 2000: 1, 15_000: 1 },
    };
    for (const [node, counts] of Object.entries(pods)) {
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
      for (const [priority, count] of Object.entries(counts)) {
        for (let index = 0; index < count; index += 1) {
          await rig.createPod(
            `${node}-${priority}-${index}`,
            {},
            { nodeName: node, priorityClassName: `p${priority}` },
          );
        }
      }
    }
  });
  after(async () => {
    await controller.stop();
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  const createMaintenance = async (
    name: string,
    priorities: readonly number[],
    nodes: readonly string[],
  ): Promise<void> => {
    const drainPlan = priorities.map((podPriority) => ({ podPriority, podType: 'Default' }));
    await apply(drainOf(name, nodes, { drainPlan }));
  };

  /** What a kubelet does: the terminating pods of a node go, up to a priority. */
  const leave = async (node: string, priority: number): Promise<void> => {
    const text = await rig.controlPlane.kubectl([
      'get',
      'pods',
      '-o',
      'json',
      `--field-selector=spec.nodeName=${node}`,
    ]);
    const { items } = JSON.parse(text) as { items: Pod[] };
    for (const { metadata, spec } of items) {
      if ((spec.priority ?? 0) <= priority) await rig.endPod(metadata.name);
    }
  };

  /** What the status says of each node: targets; evacuating of all; message. */
  const statusOf = async (name: string): Promise<readonly string[]> => {
    const text = await rig.controlPlane.kubectl(['get', 'nm', name, '-o', 'json']);
    const { status } = JSON.parse(text) as NodeMaintenance;
    return (status?.nodeStatuses ?? [])
      .map((node) => {
        const targets = (node.drainTargets ?? []).map(describeEntry).join(', ');
        const evacuating = node.podsEvacuating ?? 0;
        const all = evacuating + (node.podsPendingEvacuation ?? 0);
        return `${node.nodeRef.name}: ${targets}; ${evacuating} of ${all}; ${node.drainMessage}`;
      })
      .toSorted();
  };

  const assertStatus = async (name: string, expected: readonly string[]): Promise<void> => {
    const isSo = async (): Promise<boolean> => JSON.stringify(await statusOf(name)) === JSON.stringify(expected);
    await waitFor(name, isSo, { timeoutMs: 10_000 }).catch(() => undefined);
    assert.deepEqual(await statusOf(name), expected);
  };

  it('the controller resolves the entry with the lowest priority first on the node that they share', async () => {
    await createMaintenance('maintenance-a', [5000, 15_000], ['one', 'two']);
    await assertStatus('maintenance-a', [
      'one: Default ≤ 5000; 2 of 6; Evacuating',
      'two: Default ≤ 5000; 1 of 3; Evacuating',
    ]);
    await createMaintenance('maintenance-b', [10_000, 15_000], ['one', 'three']);
    await assertStatus('maintenance-b', [
      'one: Default ≤ 5000; 2 of 6; Evacuating (limited by maintenance-a)',
      'three: Default ≤ 10000; 2 of 3; Evacuating',
    ]);
  });

  it('the node three waits for the node one', async () => {
    await leave('three', 10_000);
    await assertStatus('maintenance-b', [
      'one: Default ≤ 5000; 2 of 6; Evacuating (limited by maintenance-a)',
      'three: Default ≤ 10000; 0 of 1; Waiting for node one.',
    ]);
  });

  it('the nodes one and three wait for the node two of the other maintenance', async () => {
    await leave('one', 5000);
    await assertStatus('maintenance-a', [
      'one: Default ≤ 5000; 0 of 4; Waiting for node two.',
      'two: Default ≤ 5000; 1 of 3; Evacuating',
    ]);
    await assertStatus('maintenance-b', [
      'one: Default ≤ 5000; 0 of 4; Waiting for node two (maintenance-a).',
      'three: Default ≤ 10000; 0 of 1; Waiting for node two (maintenance-a).',
    ]);
  });

  it('the drain goes on when the node two has drained', async () => {
    await leave('two', 5000);
    await assertStatus('maintenance-a', [
      'one: Default ≤ 10000; 3 of 4; Evacuating (limited by maintenance-b)',
      'two: Default ≤ 15000; 2 of 2; Evacuating',
    ]);
    await assertStatus('maintenance-b', [
      'one: Default ≤ 10000; 3 of 4; Evacuating',
      'three: Default ≤ 10000; 0 of 1; Waiting for node one.',
    ]);
  });

  it('a newer maintenance is fast-forwarded, with an event, and never goes back', async () => {
    await createMaintenance('maintenance-c', [2000, 15_000], ['one', 'four']);
    await assertStatus('maintenance-c', [
      'four: Default ≤ 2000; 1 of 2; Evacuating',
      'one: Default ≤ 10000; 3 of 4; Evacuating (fast-forwarded by older maintenance-b)',
    ]);
    const reason = '--field-selector=reason=FastForwarded';
    const told = ['get', 'events', '-A', reason, '-o', 'jsonpath={.items[*].message}'];
    let events = '';
    const isTold = async (): Promise<boolean> => {
      events = await rig.controlPlane.kubectl(told);
      return events !== '';
    };
    await waitFor('an Event', isTold, { timeoutMs: 10_000 });
    assert.match(
      events,
      /^The drain of node one is fast-forwarded: the older maintenance maintenance-b has gone further/,
    );
  });

  it('the drain takes every pod in the end, and then uncordons only what no other maintenance keeps', async () => {
    for (const node of ['four', 'one', 'two', 'three']) await leave(node, 2_147_483_647);
    for (const name of ['maintenance-a', 'maintenance-b', 'maintenance-c']) {
      await rig.controlPlane.kubectl(['wait', '--for=condition=Drained', `nm/${name}`, '--timeout=20s']);
    }
    await rig.controlPlane.kubectl(['delete', 'nm', 'maintenance-b', '--timeout=20s']);
    const cordoned = async (): Promise<string> => {
      const format = 'jsonpath={range .items[?(@.spec.unschedulable)]}{.metadata.name} {end}';
      return await rig.controlPlane.kubectl(['get', 'nodes', '-o', format]);
    };
    await waitFor('three is free', async () => (await cordoned()) === 'four one two ', { timeoutMs: 10_000 });
    const format = 'jsonpath={range .status.conditions[*]}{.type}={.status} {end}';
    const expected = ['MaintenanceInProgress=True', 'Drained=True', 'DrainInProgress=False'];
    const haveAll = async (): Promise<boolean> => {
      const conditions = (await rig.controlPlane.kubectl(['get', 'node', 'one', '-o', format])).split(' ');
      return expected.every((each) => conditions.includes(each));
    };
    await waitFor(`the node one has ${expected.join(', ')}`, haveAll, { timeoutMs: 10_000 });
  });

  it('the controller cordons a node again that a person uncordons, and says so', async () => {
    await rig.controlPlane.kubectl(['uncordon', 'two']);
    const isCordoned = async (): Promise<boolean> =>
      (await rig.controlPlane.kubectl(['get', 'node', 'two', '-o', 'jsonpath={.spec.unschedulable}'])) === 'true';
    await waitFor('cordoned again', isCordoned, { timeoutMs: 10_000 });
    const told = async (): Promise<boolean> =>
      (await rig.controlPlane.kubectl(['get', 'events', '-A'])).includes('CordonReverted');
    await waitFor('an event', told, { timeoutMs: 10_000 });
  });
});
