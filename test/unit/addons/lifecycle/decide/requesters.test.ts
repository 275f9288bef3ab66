import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { participantsOf } from '../../../../../src/addons/lifecycle/decide/requesters.ts';
import type { Eviction } from '../../../../../src/api/lifecycle.ts';
import { A, eviction, EVICTOR, request } from '../../../decide/lifecycle/objects.ts';

const OTHER = 'bar.example.com/2';

/** An Eviction that both have asked for, and that somebody else has labelled too. */
function known(labels: Readonly<Record<string, string>>): Eviction {
  const made = eviction({ requesters: ['foo.example.com/1', OTHER].map((name) => ({ name, intent: 'Eviction' })) });
  return { ...made, metadata: { ...made.metadata, labels: { 'team.example.com/role': 'requester', ...labels } } };
}

describe('the labels of an Eviction', () => {
  const both = { 'foo.example.com/1': 'requester', [OTHER]: 'requester' };
  const responders = { [A]: 'responder', [EVICTOR]: 'responder' };
  const kept = { 'team.example.com/role': 'requester' };

  it('a requester whose request is deleted loses its label, and nobody else does', () => {
    const { labels } = participantsOf(known({ ...both, ...responders }), [request()], [A, EVICTOR]);
    assert.deepEqual(labels, { ...kept, 'foo.example.com/1': 'requester', ...responders });
  });

  it('a requester whose request is being deleted loses its label', () => {
    const leaving = request(OTHER);
    const requests = [
      request(),
      { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-11-23T01:00:00Z' } },
    ];
    assert.equal(participantsOf(known(both), requests, [EVICTOR]).labels[OTHER], undefined);
  });

  it('a requester that withdraws keeps it, for its request is there', () => {
    const { labels } = participantsOf(known(both), [request(), request(OTHER, { intent: 'Withdrawn' })], [EVICTOR]);
    assert.equal(labels[OTHER], 'requester');
  });

  it('a requester that has another request keeps it', () => {
    const { labels } = participantsOf(known(both), [request(), request(OTHER)], [EVICTOR]);
    assert.equal(labels[OTHER], 'requester');
  });

  it('a responder that does not ask any more is a responder still', () => {
    const { labels } = participantsOf(known({ ...both, [OTHER]: 'requester-responder' }), [request()], [OTHER]);
    assert.equal(labels[OTHER], 'responder');
  });
});
