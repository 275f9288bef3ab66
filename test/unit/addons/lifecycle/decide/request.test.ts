import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../../../src/api/lifecycle.ts';
import { outcomeOf, withOutcome } from '../../../../../src/addons/lifecycle/decide/outcome.ts';
import {
  decideNewEviction,
  decideRequestStatus,
  evictionName,
  superfluous,
  type TargetFacts,
} from '../../../../../src/addons/lifecycle/decide/request.ts';
import { rfc3339 } from '../../../../../src/decide/time.ts';
import { eviction, NOW, pod, request, UID } from '../../../decide/lifecycle/objects.ts';

const target = { name: 'web', uid: UID };

function over(reason: string, number: number, at = NOW): Eviction {
  const known = eviction({}, `pod-${number}-web`);
  const end =
    reason === 'PodDeleted'
      ? ({ kind: 'evicted', reason } as const)
      : ({ kind: 'failed', reason, message: '' } as const);
  return { ...known, status: { conditions: withOutcome(known, outcomeOf(end), at) ?? [] } };
}

/** The request after a controller has looked at it. */
function seen(known: LifecycleRequest): LifecycleRequest {
  return { ...known, status: { observedGeneration: 1 } };
}

/** A request that somebody made after the failures. */
function newWish(intent: 'Eviction' | 'Withdrawn' = 'Eviction'): LifecycleRequest {
  const known = seen(request('new.io/x', { intent }));
  return { ...known, metadata: { ...known.metadata, creationTimestamp: rfc3339(NOW + 1_000) } };
}

function facts(more: Partial<TargetFacts> = {}): TargetFacts {
  return { target, pod: pod(), requests: [seen(request())], evictions: [], ...more };
}

function failures(count: number): readonly Eviction[] {
  return Array.from({ length: count }, (_, index) => over('NoFurtherResponder', index + 1));
}

describe('another Eviction for a target', () => {
  const withdrawn = [request('a.io/b', { intent: 'Withdrawn' })];
  const cases: readonly (readonly [string, TargetFacts, object])[] = [
    ['is made for the first request', facts(), { kind: 'create' }],
    ['is not made while nobody wants it', facts({ requests: withdrawn }), { kind: 'none' }],
    ['is not made while one is under way', facts({ evictions: [eviction()] }), { kind: 'none' }],
    ['is not made for a pod that has left', facts({ evictions: [over('PodDeleted', 1)] }), { kind: 'none' }],
    ['is not made for a pod that was not found', facts({ pod: undefined }), { kind: 'none' }],
    ['is not made for a namesake', facts({ pod: pod({ uid: 'other' }) }), { kind: 'none' }],
    ['is not made for the pod of a group', facts({ pod: pod({}, { schedulingGroup: {} }) }), { kind: 'none' }],
    ['is made at once after the first failure', facts({ evictions: failures(1) }), { kind: 'create' }],
    ['is made after 30 s after the second one', facts({ evictions: failures(2) }), { kind: 'wait', ms: 30_000 }],
    ['is made after 60 s after the third one', facts({ evictions: failures(3) }), { kind: 'wait', ms: 60_000 }],
    ['is made after 15 minutes at most', facts({ evictions: failures(30) }), { kind: 'wait', ms: 900_000 }],
    [
      'is made at once after it was canceled',
      facts({ evictions: [over('CanceledDueToNoRequesters', 1)] }),
      { kind: 'create' },
    ],
    [
      'is made at once where somebody asks for the first time since the last failure',
      facts({ requests: [request(), newWish()], evictions: failures(5) }),
      { kind: 'create' },
    ],
    [
      'is made at once where somebody asks again',
      facts({
        requests: [seen(request()), { ...request('b.io/c'), status: { observedGeneration: 2 } }],
        evictions: failures(5),
      }),
      { kind: 'create' },
    ],
    [
      'is not made at once for a new request that is withdrawn',
      facts({ requests: [seen(request()), newWish('Withdrawn')], evictions: failures(3) }),
      { kind: 'wait', ms: 60_000 },
    ],
    [
      'is made at once to say that the pod has left',
      facts({ pod: undefined, evictions: failures(5) }),
      { kind: 'create' },
    ],
  ];
  for (const [what, known, wanted] of cases) {
    it(`another Eviction ${what}`, () => {
      assert.deepEqual(decideNewEviction(known, NOW), wanted);
    });
  }

  it('the name of an Eviction has at most 253 characters and ends as a name may', () => {
    assert.equal(evictionName(3, 'web'), 'pod-3-web');
    const long = evictionName(1, `${'x'.repeat(246)}.${'y'.repeat(6)}`);
    assert.equal(long, `pod-1-${'x'.repeat(246)}`);
  });

  it('ten failed Evictions of a target are kept, and the oldest of more are deleted', () => {
    assert.deepEqual(superfluous(failures(10)), []);
    assert.deepEqual(
      superfluous(failures(12)).map(({ metadata }) => metadata.name),
      ['pod-1-web', 'pod-2-web'],
    );
  });
});

describe('the status of a request', () => {
  const said = (known: TargetFacts | undefined): readonly string[] =>
    (decideRequestStatus(request(), known, NOW)?.conditions ?? []).map(
      ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
    );

  it('the status says why a target is refused', () => {
    assert.deepEqual(said(facts({ pod: undefined }))[1], 'Failed=True EvictionInvalid: Target pod not found.');
    assert.match(said(facts({ pod: pod({ uid: 'other' }) }))[1] ?? '', /UID mismatch: expected .*, got other\.$/);
    assert.match(said(facts({ pod: pod({}, { schedulingGroup: {} }) }))[1] ?? '', /SchedulingGroup/);
    assert.match(said(undefined)[1] ?? '', /Unsupported target type\.$/);
  });

  it('the status says what the Eviction that counts says: one that evicted, else one under way, else the last failure', () => {
    const active = eviction(
      { conditions: withOutcome(eviction(), outcomeOf({ kind: 'failed', reason: 'X', message: 'm' }), NOW) ?? [] },
      'pod-3-web',
    );
    assert.match(
      said(facts({ evictions: [over('PodDeleted', 1), active] }))[0] ?? '',
      /^TargetEvicted=True PodDeleted/,
    );
    assert.match(said(facts({ evictions: failures(2) }))[1] ?? '', /^Failed=True NoFurtherResponder/);
    assert.match(
      said(facts({ evictions: [...failures(1), eviction({}, 'pod-2-web')] }))[1] ?? '',
      /^Failed=False AwaitingEviction: $/,
    );
  });

  it('the status of a request that was answered keeps its conditions, and follows the generation', () => {
    const first = decideRequestStatus(request(), facts({ evictions: [over('PodDeleted', 1)] }), NOW) ?? {};
    const known = request();
    const again = { ...known, metadata: { ...known.metadata, generation: 2 }, status: first };
    assert.deepEqual(decideRequestStatus(again, facts(), NOW), { observedGeneration: 2 });
    assert.equal(
      decideRequestStatus({ ...again, status: { ...first, observedGeneration: 2 } }, facts(), NOW),
      undefined,
    );
  });
});
