import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeStatus, PodType } from '../../../../src/api/node-maintenance.ts';
import { drainOfMaintenance } from '../../../../src/decide/drain/observed-drain.ts';
import type { NodeIdentity } from '../../../../src/decide/maintenance/recorded-node.ts';
import { resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { drainStatus } from '../../../../src/decide/drain/status.ts';
import { resolveSelfDrains } from '../../../../src/decide/drain/self-drain.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';
import { byName, maintenanceOf } from '../../../support/maintenance/objects.ts';

const ALL: readonly PodType[] = ['Default', 'DaemonSet', 'Static'];
const LABELLED = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'maintenance', operator: 'Exists' }] }] };
const drainTargets = ALL.map((podType) => ({ podType, podPriority: 2_147_483_647 }));
const A = { name: 'a', uid: 'uid-a' };
const AGAIN = { ...A, uid: 'uid-a-2' };

function podsOn(node: string): readonly DrainPod[] {
  return ALL.map((podType) => {
    const name = `${node}-${podType}`;
    return { namespace: 'default', name, uid: name, podType, priority: 0, labels: {} };
  });
}

/** A drain whose status says this of its nodes. */
function drainOf(nodeStatuses: readonly NodeStatus[], nodeSelector: object = LABELLED): NodeMaintenance {
  return { ...maintenanceOf({ stage: 'Drain', nodeSelector }, { name: 'm' }), status: { nodeStatuses } };
}

/** A look of the controller: how far each node is, what leaves it, and what the status says of it then. */
function look(drain: NodeMaintenance, ...nodes: readonly NodeIdentity[]) {
  const all = nodes.map((node) => ({ ...node, pods: podsOn(node.name), due: 0 }));
  const own = resolveDrains([drainOfMaintenance(drain, { nodes: all, isWhole: true })]).get('m');
  assert.ok(own !== undefined);
  const seen = { evacuating: 0, blocking: [], overLimit: 0, ungatedDaemonSets: [] };
  const { nodeStatuses } = drainStatus(drain, own, () => seen, 0);
  return own.nodes.map(({ position, evicting }, at) => {
    return { position, leave: evicting.map(({ podType }) => podType), status: nodeStatuses?.[at] };
  });
}

const DRAINED = { nodeRef: A, drainPlanPosition: 12, drainTargets, podsAtStart: 70 };

describe('the nodes of a drain', () => {
  it('a node goes on where it was, and one that registers anew goes through the plan from its beginning', () => {
    const [same] = look(drainOf([DRAINED]), A);
    assert.deepEqual([same?.position, same?.leave, same?.status?.podsAtStart], [12, ALL, 70]);
    const [anew] = look(drainOf([DRAINED]), AGAIN);
    assert.deepEqual([anew?.position, anew?.leave, anew?.status?.nodeRef], [1, ['Default'], AGAIN]);
    assert.equal(anew?.status?.podsAtStart, 3, 'the pods of the node that was there before do not count');
  });

  it('a node that joins begins at the beginning, and those that are ahead keep their targets', () => {
    const [ahead, joins] = look(drainOf([DRAINED]), A, { name: 'b', uid: 'uid-b' });
    assert.deepEqual([ahead?.leave, joins?.leave], [ALL, ['Default']]);
  });
});

describe('a status that another version wrote', () => {
  it('a node goes on with the targets that its agent handed over, which writes no position', () => {
    const handedOver = { nodeRef: { name: 'a' }, drainTargets, drainStartTime: '2026-01-01T00:00:00Z' };
    const [node] = look(drainOf([handedOver]), A);
    assert.deepEqual([node?.position, node?.leave], [12, ALL]);
  });

  it('a position beyond the plan is the end of the plan', () => {
    const [node] = look(drainOf([{ ...DRAINED, drainPlanPosition: 112 }]), A);
    assert.equal(node?.position, 12);
  });
});

describe('the agent of a node that registers anew', () => {
  for (const [which, nodeSelector] of [
    ['of the node alone', byName('a')],
    ['that has other nodes', LABELLED],
  ] as const) {
    it(`the agent takes its node through the plan of a maintenance ${which} from its beginning`, () => {
      const leaving = (node: NodeIdentity): readonly PodType[] => {
        const [own] = resolveSelfDrains([drainOf([DRAINED], nodeSelector)], node, podsOn('a'));
        return own?.resolution.nodes[0]?.evicting.map(({ podType }) => podType) ?? [];
      };
      assert.deepEqual([leaving(A), leaving(AGAIN)], [ALL, ['Default']]);
    });
  }
});
