import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import type { Pod } from '../../src/api/pod.ts';
import type { ControllerContext } from '../../src/controller/context.ts';
import { createDrainObserver } from '../../src/controller/drain.ts';
import { isSettled } from '../../src/decide/maintenance.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

function maintenance(
  status: NodeMaintenance['status'],
  stage: 'Idle' | 'Drain' | 'Complete' = 'Drain',
): NodeMaintenance {
  const byName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['one'] }] };
  return {
    metadata: { name: 'm', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { stage, nodeSelector: { nodeSelectorTerms: [byName] } },
    ...(status === undefined ? {} : { status }),
  };
}

/** A cluster whose cache still has `copy` of the maintenance. */
function clusterOf(copy: NodeMaintenance, pods: readonly Pod[]): ControllerContext {
  const node = { metadata: { name: 'one' } };
  const part = {
    options: {},
    escapes: { escapedOn: () => [] },
    maintenances: { list: () => [copy] },
    requests: { list: () => [], get: () => undefined },
    nodes: { list: () => [node], get: () => node },
    pods: { list: () => pods, get: () => undefined },
  };
  return part as unknown as ControllerContext;
}

describe('a look at a drain', () => {
  it('goes by what the drain has reached, though the cache does not show it yet', () => {
    const late: Pod = { metadata: { name: 'late', namespace: 'n', uid: 'u' }, spec: { nodeName: 'one', priority: 0 } };
    const reached = createDrainObserver(clusterOf(maintenance(undefined), [])).look(maintenance(undefined), NOW).status;
    assert.equal(reached.drainPlanPosition, 12, 'an empty node is through with its plan');
    // A pod comes, and the cache still has the maintenance from before it had reached anything.
    const observer = createDrainObserver(clusterOf(maintenance(undefined), [late]));
    const { status } = observer.look(maintenance(reached), NOW);
    assert.equal(status.drainPlanPosition, 12, 'no backtracking');
    assert.deepEqual(status.nodeStatuses?.[0]?.drainTargets, reached.nodeStatuses?.[0]?.drainTargets);
  });
});

describe('a maintenance', () => {
  it('is settled before it begins and after it has let go of all, and not between', () => {
    const held = { finalizers: ['nodemaintenance.k8s.io/maintenance-completion'] };
    const complete = maintenance(undefined, 'Complete');
    assert.equal(isSettled(maintenance(undefined, 'Idle')), true);
    assert.equal(isSettled(maintenance(undefined, 'Drain')), false);
    assert.equal(isSettled({ ...complete, metadata: { ...complete.metadata, ...held } }), false);
    assert.equal(isSettled(complete), true);
  });
});
