/** PodGroups of Kubernetes 1.37, on its API server, on nodes without kubelets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { podGroupApi } from '../../control-plane/releases.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const API = podGroupApi();
const GANG = { gang: { minCount: 1 } };

describe('the pods of a PodGroup on a node that is drained', () => {
  it('the pods of a group with the mode all leave together, when their budget allows it; those of another one by one', async () => {
    await using stack = new AsyncDisposableStack();
    const flags = ['--feature-gates=GenericWorkload=true', `--runtime-config=${API}=true`];
    const rig = stack.use(await buildEvictionRig({ apiServerFlags: flags }));
    const { kubectl } = rig.controlPlane;
    const apply = (object: object): Promise<string> => kubectl(['apply', '-f', '-'], JSON.stringify(object));
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-y' } });
    for (const [name, disruptionMode] of Object.entries({ train: { all: {} }, web: { single: {} } })) {
      const spec = { schedulingPolicy: GANG, disruptionMode };
      await apply({ apiVersion: API, kind: 'PodGroup', metadata: { name, namespace: 'default' }, spec });
    }
    const placed = { 'train-a': NODE, 'train-b': NODE, 'train-c': 'node-y', 'web-a': NODE, 'web-b': 'node-y' };
    for (const [name, nodeName] of Object.entries(placed)) {
      await rig.createPod(name, {}, { nodeName, schedulingGroup: { podGroupName: name.replace(/-.*/, '') } });
    }
    await kubectl(['label', 'pods', 'train-a', 'train-b', 'train-c', 'group=train']);
    const budget = { minAvailable: 3, selector: { matchLabels: { group: 'train' } } };
    await apply({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'train' }, spec: budget });

    await rig.startController();
    await apply(drainOf('shutdown', [NODE]));
    const told = async (): Promise<readonly string[]> => {
      const { items } = JSON.parse(await kubectl(['get', 'pods', '-o', 'json'])) as { items: Pod[] };
      const ending = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      return ending.map(({ metadata }) => metadata.name).toSorted();
    };
    const blocking = async (): Promise<string> => {
      const { status } = JSON.parse(await kubectl(['get', 'nm', 'shutdown', '-o', 'json'])) as NodeMaintenance;
      return JSON.stringify(status?.nodeStatuses?.[0]?.podsBlocking ?? []);
    };
    await waitFor('the budget of the group blocks', async () =>
      (await blocking()).includes('PodDisruptionBudget train'),
    );
    assert.match(await blocking(), /it cannot be evicted: The 3 pods of PodGroup train leave together/);
    await waitFor('the pod of the other group is told', async () => (await told()).length > 0);
    assert.deepEqual(await told(), ['web-a'], 'that group may be disrupted pod by pod');
    await kubectl(['delete', 'pdb', 'train']);
    await waitFor('all of the group are told', async () => (await told()).length === 4);
    assert.deepEqual(await told(), ['train-a', 'train-b', 'train-c', 'web-a']);
    for (const name of Object.keys(placed)) await rig.endPod(name);
    await waitFor('the node is drained', async () => {
      const { status } = JSON.parse(await kubectl(['get', 'nm', 'shutdown', '-o', 'json'])) as NodeMaintenance;
      return status?.conditions?.some((each) => each.type === 'Drained' && each.status === 'True') === true;
    });
    assert.equal(await kubectl(['get', 'evreq', '-o', 'name']), '', 'an EvictionRequest does not support such pods');
  });
});
