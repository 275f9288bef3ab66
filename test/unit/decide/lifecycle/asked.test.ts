import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import { askedSince, isAskedFor } from '../../../../src/decide/lifecycle/asked.ts';
import { ended, eviction, NOW, request } from './objects.ts';

function failed(reason: string): Eviction {
  return ended(eviction(), reason);
}

const DELETED: LifecycleRequest = {
  ...request(),
  metadata: { ...request().metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['hold.example.com/x'] },
};

describe('whether anybody asks for the eviction of a pod', () => {
  const cases: readonly (readonly [string, readonly LifecycleRequest[], readonly Eviction[], boolean])[] = [
    ['nobody does without any object', [], [], false],
    ['a new request asks', [request()], [], true],
    ['an Eviction under way asks, whoever made it', [], [eviction()], true],
    ['an Eviction that was canceled does not', [], [failed('CanceledDueToNoRequesters')], false],
    ['a withdrawn request does not', [request('foo.example.com/1', { intent: 'Withdrawn' })], [], false],
    ['a request that is deleted and held by a finalizer does not', [DELETED], [], false],
    ['a request asks whose Eviction nobody could carry out', [request()], [failed('NoFurtherResponder')], true],
    [
      'one of two requesters is enough',
      [request('foo.example.com/1', { intent: 'Withdrawn' }), request('bar.example.com/2')],
      [],
      true,
    ],
  ];
  it('it is asked for since the oldest object that asks was made', () => {
    const older: LifecycleRequest = {
      ...request('bar.example.com/2'),
      metadata: { ...request().metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
    };
    const withdrawn: LifecycleRequest = { ...older, spec: { ...older.spec, intent: 'Withdrawn' } };
    assert.equal(askedSince([request(), older], [eviction()]), Date.UTC(2026, 0, 1));
    assert.equal(askedSince([request(), withdrawn], [eviction()]), NOW);
    assert.equal(askedSince([withdrawn], [failed('CanceledDueToNoRequesters')]), undefined);
  });
  for (const [title, requests, evictions, isAsked] of cases) {
    it(title, () => {
      assert.equal(isAskedFor(requests, evictions), isAsked);
    });
  }
});
