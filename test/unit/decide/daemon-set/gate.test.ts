import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { MAINTENANCE_GATE } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideGate } from '../../../../src/decide/daemon-set/gate.ts';
import type { NodeDrain } from '../../../../src/decide/maintenance/maintenance.ts';
import { podFor } from '../../../support/daemon-set-pods.ts';

const POLICIES = path.join(import.meta.dirname, '..', '..', '..', '..', 'manifests', 'policies');

describe('the gate of a DaemonSet pod', () => {
  const drain = (podPriority: number): readonly NodeDrain[] => [
    { maintenance: 'm', reason: '', drainTargets: [{ podType: 'DaemonSet', podPriority }] },
  ];
  const on = (node: string, drains: readonly NodeDrain[]) => (asked: string) => (asked === node ? drains : []);

  it('the gate stays while a drain of its node targets the pod, and goes when none does', () => {
    assert.equal(decideGate(podFor('a', { held: true }), on('a', drain(100))), 'hold');
    assert.equal(decideGate(podFor('a', { held: true }), on('a', drain(99))), 'release');
    assert.equal(decideGate(podFor('a', { held: true }), on('b', drain(100))), 'release');
  });

  it('the gate is missing where the pod was made before it, and may be added only until the pod is bound', () => {
    assert.equal(decideGate(podFor('a'), on('a', drain(100))), 'remove');
    assert.equal(decideGate(podFor('a'), on('a', drain(99))), 'leave');
    assert.equal(decideGate(podFor('a', { bound: true }), on('a', drain(100))), 'leave');
    assert.equal(decideGate(podFor('a', { held: true, deleted: true }), on('a', [])), 'leave');
  });

  it('the gate is removed from a pod that should never have had it', () => {
    const stray: Pod = { metadata: { name: 'x' }, spec: { schedulingGates: [{ name: MAINTENANCE_GATE }] } };
    assert.equal(decideGate(stray, on('a', drain(100))), 'release');
    assert.equal(decideGate({ metadata: { name: 'x' }, spec: {} }, on('a', drain(100))), 'leave');
  });

  it('the gate has the same conditions before 1.36', async () => {
    const conditionsOf = async (file: string): Promise<unknown> => {
      const [policy] = parseAllDocuments(await readFile(path.join(POLICIES, file), 'utf8'));
      return (policy?.toJS() as { spec: { matchConditions: unknown } } | undefined)?.spec.matchConditions;
    };
    const conditions = await conditionsOf('daemonset-gate.yaml');
    assert.equal((conditions as unknown[]).length, 4);
    assert.deepEqual(await conditionsOf('before-1.36/refusal.yaml'), conditions);
  });
});
