import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { decideOverride, overrideQuestion } from '../../../../src/decide/disruption-budget/override.ts';

const DAEMON_SET = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'ds', controller: true };
const podOf = (metadata: Partial<Pod['metadata']> = {}, rest: object = {}): Pod => ({
  metadata: { name: 'web-1', namespace: 'shop', uid: 'u', labels: { app: 'web' }, ...metadata },
  spec: { nodeName: 'n1', terminationGracePeriodSeconds: 45 },
  ...rest,
});
const budget = (name: string, status: PodDisruptionBudget['status'], app = 'web'): PodDisruptionBudget => ({
  metadata: { name, namespace: 'shop' },
  spec: { selector: { matchLabels: { app } } },
  ...(status === undefined ? {} : { status }),
});
const CLOSED = budget('web', { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 });
const CONDITION = { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'no scale' };
const BROKEN = budget('web', { ...CLOSED.status, conditions: [CONDITION] });
const OPEN = budget('web', { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 });

const TABLE: readonly (readonly [string, Pod, readonly PodDisruptionBudget[], string, RegExp])[] = [
  ['a pod that has ended', podOf({}, { status: { phase: 'Succeeded' } }), [CLOSED], 'nothing', /has ended/],
  ['a terminating pod', podOf({ deletionTimestamp: '2026-01-01T00:00:00Z' }), [CLOSED], 'nothing', /terminating/],
  [
    'a static pod',
    podOf({ annotations: { [MIRROR_ANNOTATION]: 'x' } }),
    [CLOSED],
    'refused',
    /is static.*drain its node/,
  ],
  ['a pod of a DaemonSet', podOf({ ownerReferences: [DAEMON_SET] }), [CLOSED], 'refused', /DaemonSet.*drain its node/],
  ['a pod without a budget', podOf(), [], 'refused', /evict it without --in-spite-of-budget/],
  ['a pod whose budget is open', podOf(), [OPEN], 'refused', /evict it without/],
  ['a pod with the budget of others', podOf(), [budget('db', CLOSED.status, 'db')], 'refused', /evict it without/],
  ['a pod of another namespace', podOf({ namespace: 'other' }), [CLOSED], 'refused', /evict it without/],
  ['a pod whose budget is closed', podOf(), [CLOSED], 'held', /web needs 2 healthy pods and has 2/],
  ['a pod whose budget is broken', podOf(), [BROKEN], 'held', /web cannot be counted \(no scale\); give it minAvail/],
  ['a pod whose budget has no status', podOf(), [budget('web', undefined)], 'held', /has no status yet/],
  ['a pod with two budgets', podOf(), [OPEN, budget('all', OPEN.status)], 'held', /no pod that two budgets cover/],
];

describe('a pod that is to leave in spite of its budget', () => {
  for (const [what, pod, budgets, kind, words] of TABLE) {
    it(`${what}: ${kind}`, () => {
      const override = decideOverride(pod, budgets);
      assert.equal(override.kind, kind);
      assert.match(override.kind === 'held' ? override.explanation.join(' ') : override.message, words);
    });
  }

  it('the question names the pod, each budget, and how long it has to end', () => {
    const override = decideOverride(podOf(), [CLOSED]);
    assert.ok(override.kind === 'held');
    assert.deepEqual(override.budgets, ['web']);
    assert.equal(
      overrideQuestion(podOf(), override.explanation),
      'pod/web-1 in namespace shop is protected:\n  PodDisruptionBudget web needs 2 healthy pods and has 2.\n' +
        'It is deleted all the same: its interceptors are not asked, and it has 45 s to end.\n',
    );
  });
});
