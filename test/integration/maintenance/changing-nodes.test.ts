import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { describeEntry } from '../../../src/decide/maintenance/drain-plan.ts';
import { buildEvictionRig } from '../../support/rigs/eviction.ts';
import { SOON, waitFor } from '../../support/wait-for.ts';
import { maintenanceOf } from '../../support/maintenance/objects.ts';

const LABELLED = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'maintenance', operator: 'Exists' }] }] };
const FIRST = 'Default ≤ 1000';

describe('a drain whose nodes change, on a real API server', () => {
  it('each node goes through the plan from its beginning, whenever it joins or registers', async () => {
    await using rig = await buildEvictionRig();
    const { kubectl } = rig.controlPlane;
    const apply = async (object: object): Promise<string> =>
      await kubectl(['apply', '-f', '-'], JSON.stringify(object));
    const statusOf = async (): Promise<NonNullable<NodeMaintenance['status']>> => {
      const { status = {} } = JSON.parse(await kubectl(['get', 'nm', 'rack', '-o', 'json'])) as NodeMaintenance;
      return status;
    };
    const seen = async (): Promise<string> => {
      const { nodeStatuses = [], conditions = [] } = await statusOf();
      const targets = nodeStatuses.map(({ nodeRef, drainTargets = [] }) => {
        return `${nodeRef.name}: ${drainTargets.length > 1 ? 'all' : drainTargets.map(describeEntry).join()}`;
      });
      return [...targets.toSorted(), `Drained ${conditions[0]?.status}`].join('; ');
    };
    const becomes = async (expected: string): Promise<void> => {
      await waitFor(expected, async () => (await seen()) === expected, SOON).catch(() => undefined);
      assert.equal(await seen(), expected);
    };
    const isTold = async (name: string): Promise<boolean> =>
      (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined;
    const register = async (name: string): Promise<string> => {
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { maintenance: 'now' } } });
      return (JSON.parse(await kubectl(['get', 'node', name, '-o', 'json'])) as Node).metadata.uid ?? '';
    };
    const createPods = async (node: string): Promise<void> => {
      for (const value of [500, 5000]) {
        await rig.createPod(`${node}-${value}`, {}, { nodeName: node, priorityClassName: `p${value}` });
      }
    };
    for (const value of [500, 5000]) {
      const kind = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' };
      await apply({ ...kind, metadata: { name: `p${value}` }, value });
    }
    const controller = await rig.startController();
    const drainPlan = [{ podPriority: 1000, podType: 'Default' }];
    await apply(maintenanceOf({ stage: 'Drain', nodeSelector: LABELLED, drainPlan }, { name: 'rack' }));
    await becomes('Drained False');
    assert.equal((await statusOf()).drainPlanPosition, 0, 'no nodes, no progress');

    await createPods('a');
    await register('a');
    await becomes(`a: ${FIRST}; Drained False`);
    await waitFor('the first tier is evicted', () => isTold('a-500'), SOON);
    assert.equal(await isTold('a-5000'), false);
    await rig.endPod('a-500');
    await waitFor('then the next one', () => isTold('a-5000'), SOON);
    await rig.endPod('a-5000');
    await becomes('a: all; Drained True');

    await createPods('b');
    const uid = await register('b');
    await becomes(`a: all; b: ${FIRST}; Drained False`);
    assert.equal((await statusOf()).nodeStatuses?.find(({ nodeRef }) => nodeRef.name === 'b')?.nodeRef.uid, uid);
    await waitFor('its first tier is evicted', () => isTold('b-500'), SOON);
    await rig.endPod('b-500');
    await waitFor('its next one', () => isTold('b-5000'), SOON);
    await rig.createPod('b-again', {}, { nodeName: 'b', priorityClassName: 'p500' });
    await kubectl(['delete', 'node', 'b']);
    await register('b');
    await becomes(`a: all; b: ${FIRST}; Drained False`);

    for (const pod of ['b-again', 'b-5000']) {
      await waitFor(pod, () => isTold(pod), SOON);
      await rig.endPod(pod);
    }
    await becomes('a: all; b: all; Drained True');
    await kubectl(['delete', 'node', 'a', 'b']);
    await becomes('Drained True');
    // All of this may happen within one second, and `kubectl describe` orders Events by whole seconds.
    const reasons = async (): Promise<readonly string[]> => {
      const about = 'involvedObject.kind=NodeMaintenance,involvedObject.name=rack';
      const listed = await kubectl(['get', 'events', '--field-selector', about, '-o', 'jsonpath={.items[*].reason}']);
      return listed.split(' ');
    };
    await waitFor('the Event', async () => (await reasons()).includes('Drained'), SOON);
    await controller.stop();
  });
});
