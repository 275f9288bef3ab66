import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideEvictionOutcome, type EvictionAnswer } from '../../../../src/decide/eviction/api-answer.ts';
import type { PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { attemptsOf } from '../../../../src/decide/interceptor/message.ts';

const budgetOf = (name: string): PodDisruptionBudget => ({ metadata: { name, namespace: 'a' } });
const FAILED = { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'no scale subresource' };
const BROKEN = { ...budgetOf('web'), status: { disruptionsAllowed: 0, conditions: [FAILED] } };
const CONTEXT = { attempt: 1, postponed: 0, evictOnly: false, promiseWords: ['Eviction triggered'], budgets: [] };

function answer(status: number, message = '', extra: Partial<EvictionAnswer> = {}): EvictionAnswer {
  return { status, message, causes: [], ...extra };
}

/** What is said after so many attempts. */
const tried = (count: number, words: string): string =>
  `Could not evict a pod due to failing eviction requests, number of retries: ${count}. ${words}`;
const blocked = (retryAfterMs: number, message: string, more: object = {}): object => {
  return { kind: 'blocked', retryAfterMs, message, budgets: [], byBudget: false, untilChange: false, ...more };
};
const postponed = (retryAfterMs: number, message: string): object => ({ kind: 'postponed', retryAfterMs, message });

describe('an answer of the Eviction API', () => {
  const budgetCause = [
    { reason: 'DisruptionBudget', message: 'The disruption budget pdb needs 1 healthy pods and has 1 currently' },
  ];
  const several = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  const cases: [string, EvictionAnswer, object, object][] = [
    ['200: the pod is being deleted', answer(200), {}, { kind: 'accepted' }],
    ['201: likewise', answer(201), {}, { kind: 'accepted' }],
    ['404: the pod is gone', answer(404), {}, { kind: 'gone' }],
    [
      '409 by the UID: another pod has the name',
      answer(
        409,
        'Operation cannot be fulfilled on Pod "p": the UID in the precondition (u-1) does not match the UID in record (u-2).',
      ),
      {},
      { kind: 'gone' },
    ],
    [
      '409 otherwise: try again',
      answer(409, 'Operation cannot be fulfilled'),
      {},
      blocked(2_000, tried(1, 'HTTP 409: Operation cannot be fulfilled')),
    ],
    [
      '429 of a budget: it is named',
      answer(429, "Cannot evict pod as it would violate the pod's disruption budget.", { causes: budgetCause }),
      { attempt: 7 },
      blocked(128_000, tried(7, 'Blocked by PodDisruptionBudget pdb, which needs 1 healthy pod and has 1.'), {
        budgets: ['pdb'],
        byBudget: true,
      }),
    ],
    [
      '429 of a budget that is not processed yet: its Retry-After counts',
      answer(429, "Cannot evict pod as it would violate the pod's disruption budget.", {
        causes: [
          { reason: 'DisruptionBudget', message: 'The disruption budget pdb is still being processed by the server.' },
        ],
        retryAfterMs: 10_000,
      }),
      {},
      blocked(
        10_000,
        tried(
          1,
          'Blocked by PodDisruptionBudget pdb: The disruption budget pdb is still being processed by the server.',
        ),
        { budgets: ['pdb'], byBudget: true },
      ),
    ],
    [
      '429 of a budget that cannot be counted: it is named as one, with what helps',
      answer(429, "Cannot evict pod as it would violate the pod's disruption budget.", {
        causes: [
          { reason: 'DisruptionBudget', message: 'The disruption budget web is still being processed by the server.' },
        ],
        retryAfterMs: 10_000,
      }),
      { budgets: [BROKEN] },
      blocked(
        10_000,
        tried(
          1,
          'Blocked by PodDisruptionBudget web, which cannot be counted (no scale subresource); give it minAvailable as a number.',
        ),
        { budgets: ['web'], byBudget: true },
      ),
    ],
    [
      '429 of a busy API server: no failed eviction',
      answer(429, 'too many requests, please try again later', { retryAfterMs: 1_000 }),
      {},
      postponed(1_000, 'The API server asks to slow down: too many requests, please try again later'),
    ],
    [
      '429 with a promise, for a pod that asks for it: a promise',
      answer(429, 'admission webhook "v" denied the request: Eviction triggered evacuation of VMI x'),
      { evictOnly: true },
      { kind: 'promised', message: 'admission webhook "v" denied the request: Eviction triggered evacuation of VMI x' },
    ],
    [
      '429 with the same words for another pod: a refusal',
      answer(429, 'admission webhook "v" denied the request: Eviction triggered evacuation of VMI x'),
      {},
      blocked(
        2_000,
        tried(1, 'HTTP 429: admission webhook "v" denied the request: Eviction triggered evacuation of VMI x'),
      ),
    ],
    [
      '429 of a webhook for a pod with a budget that has room: a refusal, and none of the budget',
      answer(429, 'admission webhook "v" denied the request: not now'),
      { budgets: [budgetOf('web')] },
      blocked(2_000, tried(1, 'HTTP 429: admission webhook "v" denied the request: not now')),
    ],
    [
      '500 of several budgets: both named, no quick retry',
      answer(500, several),
      { budgets: [budgetOf('b'), budgetOf('a')] },
      blocked(
        900_000,
        tried(1, 'Blocked by PodDisruptionBudget a, b: no pod is evicted that more than one of them selects.'),
        { budgets: ['a', 'b'], byBudget: true, untilChange: true },
      ),
    ],
    [
      '404 of a webhook: a refusal, and no sign that the pod is gone',
      answer(404, 'admission webhook "v" denied the request: no such tenant'),
      { attempt: 3 },
      blocked(8_000, tried(3, 'HTTP 404: admission webhook "v" denied the request: no such tenant')),
    ],
    [
      '403 of a budget, from Kubernetes 1.37 on: it is named',
      answer(403, 'pods "p" is forbidden', {
        causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget pdb has negative disruptionsAllowed' }],
      }),
      {},
      blocked(
        2_000,
        tried(1, 'Blocked by PodDisruptionBudget pdb: The disruption budget pdb has negative disruptionsAllowed.'),
        { budgets: ['pdb'], byBudget: true },
      ),
    ],
    [
      '429 of a busy API server after failures: their count stays in the message',
      answer(429, 'busy', { retryAfterMs: 1_000 }),
      { attempt: 10 },
      postponed(1_000, tried(9, 'The API server asks to slow down: busy')),
    ],
    [
      '403 in a terminating namespace: the namespace does it',
      answer(403, 'forbidden', { causes: [{ reason: 'NamespaceTerminating' }] }),
      {},
      postponed(5_000, 'The namespace is being deleted, and the pod with it.'),
    ],
    [
      '503: it says nothing about the pod, and is no attempt of its own',
      answer(503, 'away'),
      { attempt: 30, postponed: 8 },
      {
        kind: 'failed',
        retryAfterMs: 60_000,
        message:
          'Could not evict a pod due to failing eviction requests, number of retries: 29. Nobody could be asked: HTTP 503: away',
      },
    ],
    [
      'a webhook that cannot be called: the same',
      answer(500, 'Internal error occurred: failed calling webhook "v": connection refused'),
      {},
      {
        kind: 'failed',
        retryAfterMs: 2_000,
        message:
          'Nobody could be asked: HTTP 500: Internal error occurred: failed calling webhook "v": connection refused',
      },
    ],
    [
      'a webhook that denies it with 503: a refusal',
      answer(503, 'admission webhook "v" denied the request: not now'),
      {},
      blocked(2_000, tried(1, 'HTTP 503: admission webhook "v" denied the request: not now')),
    ],
  ];
  for (const [name, given, context, expected] of cases) {
    it(name, () => {
      assert.deepEqual(decideEvictionOutcome(given, { ...CONTEXT, ...context }), expected);
    });
  }

  it('an answer of the Eviction API that says nothing about the pod makes pauses that grow up to a minute', () => {
    const pauseMs = (postponed: number, retryAfterMs?: number): number | undefined => {
      const given = answer(429, 'busy', retryAfterMs === undefined ? {} : { retryAfterMs });
      const outcome = decideEvictionOutcome(given, { ...CONTEXT, postponed });
      return outcome.kind === 'postponed' ? outcome.retryAfterMs : undefined;
    };
    const found = [0, 1, 4, 9].map((postponed) => pauseMs(postponed));
    assert.deepEqual(found, [1_000, 2_000, 16_000, 60_000]);
    const shown = [pauseMs(0, 0), pauseMs(0, -5_000)];
    assert.deepEqual(shown, [1_000, 1_000], 'no Retry-After makes a loop without a pause');
    assert.equal(pauseMs(0, 300_000), 300_000);
    assert.equal(pauseMs(0, 1e12), 900_000, 'nobody is believed for longer than a quarter of an hour');
  });

  it('an answer of the Eviction API has a count that is read back from the message', () => {
    const outcome = decideEvictionOutcome(answer(403, 'x'), { ...CONTEXT, attempt: 12 });
    assert.equal(attemptsOf(outcome.kind === 'blocked' ? outcome.message : ''), 12);
    assert.equal(attemptsOf('anything else'), 0);
    assert.equal(attemptsOf(undefined), 0);
  });
});
