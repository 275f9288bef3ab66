import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  hookPatch,
  isToStay,
  MACHINE_HOOK,
  MACHINE_HOOK_LABEL,
  unhookPatch,
} from '../../../../../src/addons/cluster-api/decide/machine-hook.ts';
import type { Machine } from '../../../../../src/api/machine.ts';
import type { Node } from '../../../../../src/api/pod.ts';
import { drainOf } from '../../../../support/maintenance/objects.ts';
import { mergePatch } from '../../../../support/stand-ins/patches.ts';

const MACHINE: Machine = {
  metadata: { name: 'md-0-x', namespace: 'prod', resourceVersion: '7', annotations: { other: 'x' } },
  status: { nodeRef: { name: 'node-a' } },
};
const NODE: Node = { metadata: { name: 'node-a' } };

function withMeta(metadata: Partial<Machine['metadata']>): Machine {
  return { ...MACHINE, metadata: { ...MACHINE.metadata, ...metadata } };
}

describe('the hook of a Machine', () => {
  it('the hook is set for the version that was read', () => {
    const metadata = {
      resourceVersion: '7',
      annotations: { [MACHINE_HOOK]: 'nodemaint' },
      labels: { [MACHINE_HOOK_LABEL]: 'true' },
    };
    assert.deepEqual(hookPatch(MACHINE), { metadata });
  });

  it('the hook is never set on a Machine that is being deleted, or over that of others', () => {
    assert.equal(hookPatch(withMeta({ deletionTimestamp: '2026-01-01T00:00:00Z' })), undefined);
    assert.equal(hookPatch(withMeta({ annotations: { [MACHINE_HOOK]: 'somebody' } })), undefined);
  });

  it('the hook is taken away only where it is ours, the label in each case', () => {
    const [ours, theirs] = ['nodemaint', 'somebody'].map((owner) =>
      withMeta({ annotations: { [MACHINE_HOOK]: owner }, labels: { [MACHINE_HOOK_LABEL]: 'true' } }),
    );
    assert.ok(ours !== undefined && theirs !== undefined);
    const labels = { [MACHINE_HOOK_LABEL]: null };
    const metadata = { resourceVersion: '7', labels };
    assert.deepEqual(unhookPatch(ours), { metadata: { ...metadata, annotations: { [MACHINE_HOOK]: null } } });
    assert.deepEqual(unhookPatch(theirs), { metadata: { ...metadata, annotations: {} } });
    assert.equal(unhookPatch(MACHINE), undefined);
  });

  it('the hook is given back without a trace, and what others set before or meanwhile stays', () => {
    const others = {
      labels: { set: 'md-0' },
      annotations: { 'pre-drain.delete.hook.machine.cluster.x-k8s.io/x': 'y' },
    };
    const before = withMeta(others);
    const held = mergePatch(before, hookPatch(before) ?? {}) as Machine;
    assert.equal(hookPatch(held), undefined);
    const meanwhile = mergePatch(held, { metadata: { annotations: { more: 'z' } } }) as Machine;
    const free = mergePatch(meanwhile, unhookPatch(meanwhile) ?? {}) as Machine;
    assert.deepEqual(free.metadata.labels, others.labels);
    assert.deepEqual(free.metadata.annotations, { ...others.annotations, more: 'z' });
  });
});

describe('whether the Machine of a node has to stay', () => {
  it('it has to stay while a drain is under way, and not for a cordon, a drain that is deleted, or a drained node', () => {
    const drained = { type: 'Drained', status: 'True', reason: 'DrainCompleted' } as const;
    const withDrained: Node = { ...NODE, status: { conditions: [drained] } };
    const byOthers: Node = { ...NODE, status: { conditions: [{ ...drained, reason: 'Somebody' }] } };
    const drain = drainOf('d', ['node-a']);
    const deleted = { ...drain, metadata: { ...drain.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.equal(isToStay([drain], NODE), true);
    assert.equal(isToStay([drain], byOthers), true);
    assert.equal(isToStay([drain], withDrained), false);
    assert.equal(isToStay([deleted], NODE), false);
    assert.equal(isToStay([drainOf('d', ['node-b'])], NODE), false);
    assert.equal(isToStay([drainOf('c', ['node-a'], { stage: 'Cordon' })], NODE), false);
    assert.equal(isToStay([], NODE), false);
  });
});
