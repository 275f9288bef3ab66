import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { createRecordedStatuses } from '../../../../src/controller/cache/recorded-statuses.ts';
import { begunNode } from '../../../../src/decide/maintenance/recorded-node.ts';
import { drainsOfNode } from '../../../../src/decide/maintenance/maintenance.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

describe('what the status of a large maintenance has of one node', () => {
  const names = Array.from({ length: 10 }, (_, index) => `n-${index}`);
  const drainTargets = [{ podType: 'Default', podPriority: 0 }] as const;
  const whole: NodeMaintenance = {
    ...drainOf('m', names),
    status: {
      nodeStatuses: names.map((name, index) => {
        const begin = index === 0 ? {} : { drainStartTime: '2026-01-01T00:00:00Z' };
        return { nodeRef: { name }, drainTargets, ...begin };
      }),
    },
  };

  it('the node is recorded and has begun where it is so in the whole status, and nowhere else', () => {
    const recorded = createRecordedStatuses();
    recorded.note('m', whole);
    assert.deepEqual([...recorded.by('n-5')], ['m']);
    for (const name of [...names, 'other']) {
      const seen = recorded.asSeenFrom(name, whole);
      assert.ok((seen.status?.nodeStatuses?.length ?? 0) <= 1);
      assert.deepEqual(drainsOfNode([seen], name), drainsOfNode([whole], name));
      assert.deepEqual(begunNode(seen.status, { name }), begunNode(whole.status, { name }));
    }
  });
});
