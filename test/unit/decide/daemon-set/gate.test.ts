import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { type DaemonSet, REVISION_HASH_LABEL } from '../../../../src/api/daemon-set.ts';
import { MAINTENANCE_GATE } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createSharedRead } from '../../../../src/controller/daemon-set/shared-read.ts';
import { decideGate } from '../../../../src/decide/daemon-set/gate.ts';
import {
  ungatedDaemonSets,
  forgetGated,
  forgetNodes,
  noteRemoval,
  type Removal,
  removalDelayMs,
  removalWaitMs,
  returnsOf,
} from '../../../../src/decide/daemon-set/ungated.ts';
import { currentHash, decideRollout } from '../../../../src/decide/daemon-set/rollout.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { createUngatedDaemonSets } from '../../../../src/kube/eviction/ungated-daemon-sets.ts';
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

const old = (node: string): Pod => podFor(node, { bound: true, hash: 'old', readySec: 60 });
const fresh = (node: string, readySec?: number): Pod =>
  podFor(node, { bound: true, hash: 'new', ...(readySec === undefined ? {} : { readySec }) });
const held = (node: string): Pod => podFor(node, { held: true, hash: 'new' });

function daemonSetOf(desired: number, rollingUpdate: object = {}, spec: object = {}): DaemonSet {
  return {
    metadata: { name: 'logger', namespace: 'default', uid: 'ds', generation: 2 },
    spec: { selector: {}, updateStrategy: { type: 'RollingUpdate', rollingUpdate }, ...spec },
    status: { observedGeneration: 2, desiredNumberScheduled: desired },
  };
}

/** The nodes whose pods the rollout would replace now. */
function replaced(daemonSet: DaemonSet, pods: readonly Pod[]): readonly string[] {
  return decideRollout({ daemonSet, hash: 'new', pods }, NOW).replace.map(({ spec }) => spec.nodeName ?? '');
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

describe('a DaemonSet that ignores the gate', () => {
  const removal = (uid: string, node = 'a', at = 0): Removal => ({ daemonSet: 'default/logger', node, uid, at });
  const after = (...uids: readonly string[]): readonly Removal[] =>
    uids.reduce<readonly Removal[]>((all, uid) => noteRemoval(all, removal(uid)), []);

  it('a DaemonSet has escaped whose pods came back three times after the first was removed; a pod counts once', () => {
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '2', '3'), 'a'), []);
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '3', '4'), 'a'), ['default/logger']);
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '3', '4'), 'b'), []);
    assert.equal(returnsOf(after('1', '2'), 'default/logger', 'a', '3'), 2);
    assert.equal(returnsOf(after('1', '2'), 'default/logger', 'a', '2'), 1);
    assert.equal(returnsOf([], 'default/logger', 'a', '1'), 0);
  });

  it('a DaemonSet has not escaped any more when the gate holds one of its pods, or the node is not drained', () => {
    const removals = after('1', '2', '3', '4');
    assert.deepEqual(forgetGated(removals, 'default/logger', 'a'), []);
    assert.equal(forgetGated(removals, 'default/other', 'a'), removals);
    assert.deepEqual(
      forgetNodes([...removals, removal('5', 'b')], (node) => node === 'b'),
      [removal('5', 'b')],
    );
  });

  it('the pods of an escaped DaemonSet are removed at growing intervals, up to a limit', () => {
    assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 60].map(removalDelayMs), [0, 0, 0, 2_000, 4_000, 8_000, 15_000, 15_000]);
  });

  it('a pod of an escaped DaemonSet waits for the interval after the last removal on its node', () => {
    const removals = ['1', '2', '3'].reduce<readonly Removal[]>((all, uid, index) => {
      return noteRemoval(all, removal(uid, 'a', index * 1_000));
    }, []);
    const waitAt = (at: number, node = 'a'): number => removalWaitMs(removals, removal('4', node, at)).inMs;
    assert.deepEqual(
      [2_000, 2_500, 3_999, 4_000, 9_000].map((at) => waitAt(at)),
      [2_000, 1_500, 1, 0, 0],
    );
    assert.equal(waitAt(2_000, 'b'), 0);
    assert.deepEqual(removalWaitMs(removals.slice(0, 2), removal('3', 'a', 1_000)), { inMs: 0, returns: 2 });
    assert.deepEqual(removalWaitMs([], removal('1')), { inMs: 0, returns: 0 });
  });

  it('a pod of an escaped DaemonSet is removed also where the wall clock is an hour behind the API server', () => {
    let monotonic = 0;
    const clock = { ...createSystemClock(), now: () => -3_600_000, monotonic: () => monotonic };
    const ungated = createUngatedDaemonSets(clock);
    const podOf = (uid: string): Pod => {
      const ownerReferences = [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'd', controller: true },
      ];
      const metadata = { name: uid, namespace: 'default', uid, ownerReferences, creationTimestamp: rfc3339(0) };
      return { metadata, spec: { nodeName: 'a' } };
    };
    for (const uid of ['1', '2', '3']) ungated.removed(podOf(uid));
    const { inMs } = ungated.due(podOf('4'));
    assert.equal(inMs, 2_000);
    monotonic += inMs;
    assert.equal(ungated.due(podOf('4')).inMs, 0);
  });
});

describe('the rolling update of a DaemonSet with gated pods', () => {
  it('the rolling update goes on elsewhere, one pod at a time, where maxUnavailable is 1', () => {
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), old('b'), old('c')]), ['b']);
    const terminating = podFor('b', { bound: true, deleted: true });
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), terminating, old('c')]), [], 'one is going');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b'), old('c')]), [], 'one is not ready');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), old('c')]), [], 'one is missing');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b', 1), old('c')]), ['c']);
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b', 1), fresh('c', 1)]), []);
  });

  it('the rolling update is left to the DaemonSet controller where that can go on by its own count', () => {
    assert.deepEqual(replaced(daemonSetOf(3), [old('a'), old('b'), old('c')]), [], 'nothing is held');
    const two = daemonSetOf(4, { maxUnavailable: 2 });
    assert.deepEqual(replaced(two, [held('a'), old('b'), old('c'), old('d')]), []);
    assert.deepEqual(replaced(two, [held('a'), fresh('b'), old('c'), old('d')]), ['c'], 'its count is used up');
    assert.deepEqual(replaced(daemonSetOf(4, { maxUnavailable: '50%' }), [held('a'), held('b'), old('c'), old('d')]), [
      'c',
      'd',
    ]);
  });

  it('the rolling update is left alone where it surges, or is done by hand', () => {
    assert.deepEqual(replaced(daemonSetOf(2, { maxSurge: 1, maxUnavailable: 0 }), [held('a'), old('b')]), []);
    assert.deepEqual(replaced(daemonSetOf(2, {}, { updateStrategy: { type: 'OnDelete' } }), [held('a'), old('b')]), []);
  });

  it('the rolling update waits until a new pod has been ready for minReadySeconds', () => {
    const daemonSet = daemonSetOf(3, {}, { minReadySeconds: 10 });
    const step = decideRollout({ daemonSet, hash: 'new', pods: [held('a'), fresh('b', 4), old('c')] }, NOW);
    assert.deepEqual(step, { replace: [], againMs: 6_000 });
    assert.deepEqual(replaced(daemonSet, [held('a'), fresh('b', 10), old('c')]), ['c']);
  });

  it('the rolling update knows the current template by the newest revision, once the DaemonSet controller has seen it', () => {
    const revision = (number: number, hash: string, uid = 'ds'): Parameters<typeof currentHash>[1][number] => ({
      metadata: { name: hash, labels: { [REVISION_HASH_LABEL]: hash }, ownerReferences: [{ ...OWNER, uid }] },
      revision: number,
    });
    const revisions = [revision(1, 'old'), revision(2, 'new'), revision(3, 'foreign', 'another')];
    assert.equal(currentHash(daemonSetOf(1), revisions), 'new');
    const changed = daemonSetOf(1);
    assert.equal(currentHash({ ...changed, metadata: { ...changed.metadata, generation: 3 } }, revisions), undefined);
  });
});

describe('a shared read', () => {
  it('a shared read never answers with what was read before the question, and reads once for all who ask meanwhile', async () => {
    let reads = 0;
    let finish: () => void = () => undefined;
    const read = createSharedRead(async () => {
      reads += 1;
      const own = reads;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return own;
    });
    const { signal } = new AbortController();
    const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const first = read(signal);
    await tick();
    const [second, third] = [read(signal), read(signal)];
    finish();
    await tick();
    finish();
    assert.deepEqual(await Promise.all([first, second, third]), [1, 2, 2]);
  });
});
