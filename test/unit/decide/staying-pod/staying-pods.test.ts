import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION, SOURCE_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { type DrainResolution, resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { drainStatus } from '../../../../src/decide/drain/status.ts';
import {
  describeStaying,
  drainPodOn,
  readySinceOf,
  waitedFor,
} from '../../../../src/decide/staying-pod/staying-pods.ts';

const SINCE = Date.parse('2026-01-01T10:00:00Z');
const NOW = SINCE + 20 * 60_000;
const PLAN = effectiveDrainPlan([]);
const LATE: Pod = {
  metadata: { name: 'late', namespace: 'shop', uid: 'late', creationTimestamp: '2026-01-01T10:05:00Z' },
  spec: {},
};
const annotations = { [MIRROR_ANNOTATION]: 'x', [SOURCE_ANNOTATION]: 'http' };
const FROM_URL: Pod = {
  metadata: { name: 'from-url', namespace: 'shop', uid: 'from-url', annotations },
  spec: { priority: 5 },
};
const ORDINARY: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'web' }, spec: {} };

function resolved(pods: readonly Pod[], since?: number): DrainResolution {
  const node = { name: 'n1', pods: pods.map((pod) => drainPodOn(pod, { since, now: NOW })), recorded: [], position: 0 };
  const found = resolveDrains([{ name: 'm', startedAt: 0, plan: PLAN, nodes: [node] }]).get('m');
  assert.ok(found);
  return found;
}

describe('pods that a drain does not wait for', () => {
  it('a pod that came too late stays for a machine that goes down alone, and a static pod from a URL for every drain', () => {
    const names = (since?: number): readonly string[] =>
      waitedFor([LATE, FROM_URL, ORDINARY].map((pod) => drainPodOn(pod, { since, now: NOW }))).map(({ name }) => name);
    assert.deepEqual(names(SINCE), ['web']);
    assert.deepEqual(names(), ['late', 'web']);
    assert.equal(describeStaying([drainPodOn(ORDINARY, { since: SINCE, now: NOW })]), undefined);
  });

  it('a pod whose grace period was over seven minutes ago stays for a machine that goes down', () => {
    const metadata = { ...ORDINARY.metadata, deletionTimestamp: '2026-01-01T10:10:00Z', deletionGracePeriodSeconds: 5 };
    const waits = (since: number | undefined, now: number): number =>
      waitedFor([drainPodOn({ ...ORDINARY, metadata }, { since, now })]).length;
    const end = SINCE + 10 * 60_000;
    const found = [waits(SINCE, end + 419_999), waits(SINCE, end + 420_000), waits(undefined, end + 420_000)];
    assert.deepEqual(found, [1, 0, 1]);
  });

  it('a pod whose kubelet was away when it was told to end has its whole grace period from when somebody can end it', () => {
    const waits = (status: 'True' | 'Unknown', minutes: number, deletionTimestamp = '2026-01-01T10:20:00Z'): number => {
      const metadata = { ...ORDINARY.metadata, deletionTimestamp, deletionGracePeriodSeconds: 600 };
      const conditions = [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T10:19:00Z' }];
      const readySince = readySinceOf({ status: { conditions } });
      const going = { since: SINCE, now: SINCE + minutes * 60_000, readySince };
      return waitedFor([drainPodOn({ ...ORDINARY, metadata }, going)]).length;
    };
    assert.deepEqual([waits('True', 35), waits('True', 36), waits('Unknown', 21), waits('Unknown', 22)], [1, 0, 1, 0]);
    const before = '2026-01-01T09:20:00Z';
    assert.deepEqual([waits('Unknown', 11, before), waits('Unknown', 12, before)], [1, 0], 'from when it goes down');
  });

  it('the drain goes through its plan past such pods, asks them to leave all the same, and ends', () => {
    const { drained, position, nodes } = resolved([LATE, FROM_URL], SINCE);
    assert.deepEqual([drained, position], [true, PLAN.length]);
    const names = nodes[0]?.evicting.map(({ name }) => name);
    assert.deepEqual(names, ['late', 'from-url']);
    assert.match(nodes[0]?.message ?? '', /^Drained; what stays: .*shop\/late; .*: shop\/from-url$/);
    assert.equal(resolved([LATE, FROM_URL]).drained, false, 'a node that stays up waits for the one');
    assert.equal(resolved([LATE, ORDINARY], SINCE).drained, false);
  });

  it('the condition Drained of a person says what stays, and counts it', () => {
    const maintenance = { metadata: { name: 'm' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } };
    const seen = { blocking: [], evacuating: 1, overLimit: 0, ungatedDaemonSets: [] };
    const status = drainStatus(maintenance, resolved([FROM_URL]), () => seen, SINCE);
    const [condition] = status.conditions ?? [];
    assert.equal(condition?.status, 'True');
    const text = condition?.message ?? '';
    assert.match(text, /^All pods that can leave are gone\. What stays: .*staticPodURL.*: shop\/from-url\.$/);
    assert.equal(status.nodeStatuses?.[0]?.podsEvacuating, 1);
  });
});
