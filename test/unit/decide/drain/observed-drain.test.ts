import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../../src/api/node-maintenance.ts';
import { drainOfMaintenance, reachedTargets } from '../../../../src/decide/drain/observed-drain.ts';
import { resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NODE = { name: 'one', uid: 'uid-one' };
const AGENT: DrainPod = { namespace: 'n', name: 'p', uid: 'u', podType: 'DaemonSet', priority: 0, labels: {} };
const DEFAULT_ONLY = [{ podType: 'Default', podPriority: 2_147_483_647 }] as const;
const DAEMON_SETS = [...DEFAULT_ONLY, { podType: 'DaemonSet', podPriority: 2_147_483_647 }] as const;

function begun(name: string, created: string, started: string | undefined, status: object): NodeMaintenance {
  const stageStatuses = started === undefined ? [] : [{ name: 'Drain' as const, startTimestamp: started }];
  const drain = drainOf(name, ['one']);
  const all: NodeMaintenanceStatus = { stageStatuses, ...status };
  return { ...drain, metadata: { ...drain.metadata, creationTimestamp: created }, status: all };
}

function messageOf(name: string, maintenances: readonly NodeMaintenance[]): string | undefined {
  const nodes = [{ ...NODE, pods: [AGENT], due: 0 }];
  const drains = maintenances.map((each) => drainOfMaintenance(each, { nodes, isWhole: true }));
  return resolveDrains(drains).get(name)?.nodes[0]?.message;
}

const reached = { nodeStatuses: [{ nodeRef: NODE, drainTargets: DAEMON_SETS, drainPlanPosition: 8 }] };

describe('a drain that another has overtaken', () => {
  const [monday, tuesday, wednesday] = ['2026-01-05T00:00:00Z', '2026-01-06T00:00:00Z', '2026-01-07T00:00:00Z'];
  const older = begun('firmware', tuesday, tuesday, reached);

  it('the drain is fast-forwarded by the one that began earlier, though it was made earlier itself', () => {
    const text = 'Evacuating (fast-forwarded by older firmware)';
    const planned = begun('planned', monday, wednesday, { nodeStatuses: [{ nodeRef: NODE, drainPlanPosition: 1 }] });
    assert.equal(messageOf('planned', [older, planned]), text);
    assert.equal(messageOf('planned', [older, begun('planned', monday, undefined, {})]), text, 'not recorded yet');
  });
});

describe('the targets that drains have reached on a node', () => {
  it('the targets are the most powerful of those recorded for this Node object by maintenances in Drain', () => {
    const other = begun('other', '', '', { nodeStatuses: [{ nodeRef: NODE, drainTargets: DEFAULT_ONLY }] });
    const further = begun('further', '', '', reached);
    const complete = { ...further, spec: { ...further.spec, stage: 'Complete' as const } };
    assert.deepEqual(reachedTargets([other, further])(NODE), DAEMON_SETS);
    assert.deepEqual(reachedTargets([other, complete])(NODE), DEFAULT_ONLY);
    assert.deepEqual(reachedTargets([other, further])({ ...NODE, uid: 'uid-two' }), []);
  });
});
