import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { createAffectedNodes } from '../../../../src/controller/cache/affected-nodes.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

describe('what a change of a maintenance concerns', () => {
  const targets = [{ podType: 'Default', podPriority: 0 }] as const;
  const drain: NodeMaintenance = {
    ...drainOf('m', ['one', 'two']),
    status: {
      nodeStatuses: [
        { nodeRef: { name: 'one' }, drainTargets: targets, podsEvacuating: 5 },
        { nodeRef: { name: 'two' }, drainTargets: targets },
      ],
    },
  };
  const [first, second] = drain.status?.nodeStatuses ?? [];
  assert.ok(first !== undefined && second !== undefined);
  const changes = [
    [
      'nothing where only a count changes',
      { ...drain, status: { nodeStatuses: [{ ...first, podsEvacuating: 4 }, second] } },
      [],
    ],
    [
      'the node whose targets change',
      { ...drain, status: { nodeStatuses: [{ ...first, drainTargets: [] }, second] } },
      ['one'],
    ],
    ['all nodes where its stage changes', { ...drain, spec: { ...drain.spec, stage: 'Complete' } }, ['one', 'two']],
    [
      'all nodes where its deadline changes',
      { ...drain, metadata: { ...drain.metadata, annotations: { [DEADLINE_ANNOTATION]: 'x' } } },
      ['one', 'two'],
    ],
    ['all nodes where it is gone', undefined, ['one', 'two']],
  ] as const;
  for (const [what, change, nodes] of changes) {
    it(`a change of a maintenance concerns ${what}`, () => {
      const reach = createAffectedNodes();
      assert.deepEqual(reach('m', drain, ['one', 'two']), ['one', 'two']);
      assert.deepEqual(reach('m', drain, ['one', 'two']), []);
      const selected = change === undefined ? [] : ['one', 'two'];
      assert.deepEqual(reach('m', change as NodeMaintenance | undefined, selected), nodes);
    });
  }
});

describe('what the deletion of a maintenance that has not begun concerns', () => {
  it('the deletion concerns all nodes although a finalizer keeps it: it plans them no longer', () => {
    const reach = createAffectedNodes();
    const idle: NodeMaintenance = { ...drainOf('m', ['one']) };
    const spec = { ...idle.spec, stage: 'Idle' as const };
    reach('m', { ...idle, spec }, ['one']);
    const metadata = { ...idle.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/hold'] };
    assert.deepEqual(reach('m', { ...idle, spec, metadata }, ['one']), ['one']);
  });
});
