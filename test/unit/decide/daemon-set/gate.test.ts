import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { REVISION_HASH_LABEL } from '../../../../src/api/daemon-set.ts';
import { MAINTENANCE_GATE } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideGate } from '../../../../src/decide/daemon-set/gate.ts';
import type { NodeDrain } from '../../../../src/decide/maintenance/maintenance.ts';

const POLICIES = path.join(import.meta.dirname, '..', '..', '..', '..', 'manifests', 'policies');

const NOW = Date.parse('2026-01-01T00:00:00Z');

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'ds', controller: true };

interface Shape {
  readonly held?: boolean;
  readonly bound?: boolean;
  readonly hash?: string;
  readonly readySec?: number;
  readonly deleted?: boolean;
}

/** A pod of the DaemonSet default/logger for a node; ready for so many seconds, if told. */
function podFor(node: string, shape: Shape = {}): Pod {
  const field = { key: 'metadata.name', operator: 'In', values: [node] };
  const required = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [field] }] },
  };
  const lastTransitionTime = new Date(NOW - (shape.readySec ?? 0) * 1000).toISOString();
  return {
    metadata: {
      name: `logger-${node}-${shape.hash ?? ''}`,
      namespace: 'default',
      uid: `${node}-${shape.hash ?? ''}`,
      ownerReferences: [OWNER],
      labels: { app: 'logger', [REVISION_HASH_LABEL]: shape.hash ?? 'old' },
      ...(shape.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      priority: 100,
      ...(shape.bound === true ? { nodeName: node } : { affinity: { nodeAffinity: required } }),
      ...(shape.held === true ? { schedulingGates: [{ name: MAINTENANCE_GATE }, { name: 'other' }] } : {}),
    },
    status: shape.readySec === undefined ? {} : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] },
  };
}

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
