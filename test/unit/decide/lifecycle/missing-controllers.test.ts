import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import { type Awaited, awaitedBy, unattendedInMs } from '../../../../src/decide/lifecycle/missing-controllers.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { ended, eviction, NOW, request, turns } from './objects.ts';

const MINUTE = 60_000;

function seen(more: Partial<LifecycleRequest['spec']> = {}, generation = 1): LifecycleRequest {
  const known = request('foo.example.com/1', more);
  return { ...known, metadata: { ...known.metadata, generation }, status: { observedGeneration: 1 } };
}

const WORKING = eviction(turns('Active', 'Inactive', { heartbeatTime: rfc3339(NOW + MINUTE) }));

describe('what a request of a drain waits for', () => {
  const cases: readonly (readonly [string, LifecycleRequest, Eviction | undefined, Awaited])[] = [
    ['a new request waits for a controller', request(), undefined, 'controller'],
    ['a new request waits for one also beside an Eviction that others asked for', request(), WORKING, 'controller'],
    ['one that asks again waits for one', seen({}, 2), WORKING, 'controller'],
    ['one without an Eviction waits for one', seen(), undefined, 'controller'],
    ['one whose Eviction has no responders yet waits for one', seen(), eviction(), 'controller'],
    ['one whose responder has its turn waits for that', seen(), WORKING, 'responder'],
    ['one whose Eviction failed waits for the next', seen(), ended(WORKING, 'NoFurtherResponder'), 'next-eviction'],
    ['a withdrawn one waits for nothing', seen({ intent: 'Withdrawn' }, 2), WORKING, 'nothing'],
  ];
  for (const [title, known, of, awaited] of cases) {
    it(title, () => {
      assert.equal(awaitedBy(known, of), awaited);
    });
  }

  it('one that has its answer waits for nothing', () => {
    const condition = { type: 'Failed', status: 'True', reason: 'EvictionInvalid', message: '' } as const;
    const conditions = [{ ...condition, lastTransitionTime: rfc3339(NOW) }];
    assert.equal(awaitedBy({ ...seen(), status: { observedGeneration: 1, conditions } }, undefined), 'nothing');
  });
});

describe('when it is clear that nobody works on a request', () => {
  const inMs = (awaited: Awaited, waitedMs: number, now = NOW): number =>
    unattendedInMs({ awaited, eviction: WORKING, waitedMs, now });
  const cases: readonly (readonly [string, number, number])[] = [
    ['a minute after it has waited for a controller first', inMs('controller', 0), MINUTE],
    ['then it stays clear', inMs('controller', 2 * MINUTE), 0],
    ['a minute after the longest pause between two Evictions', inMs('next-eviction', 0), 16 * MINUTE],
    ['and then', inMs('next-eviction', 16 * MINUTE), 0],
    ['a minute after a controller had ended the turn of a silent responder', inMs('responder', 0), 22 * MINUTE],
    ['and then, however long the request has waited', inMs('responder', 0, NOW + 22 * MINUTE), 0],
    ['never while nothing is waited for', inMs('nothing', 3_600_000), Infinity],
  ];
  for (const [title, ms, wanted] of cases) {
    it(title, () => {
      assert.equal(ms, wanted);
    });
  }
});
