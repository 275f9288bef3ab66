import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failedAttempts } from '../../../../src/decide/eviction/api-answer.ts';
import {
  endedMessage,
  engineView,
  evictorMessage,
  isResponderActive,
  saysEvicted,
} from '../../../../src/decide/lifecycle/translation.ts';
import { rememberedPause } from '../../../../src/decide/lifecycle/remembered-pause.ts';
import { decideReport } from '../../../../src/decide/lifecycle/report.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { A, EVICTOR, eviction, NOW, turns } from './objects.ts';

const NAMES = { responder: EVICTOR, interceptor: 'imperative-eviction.k8s.io' };
const LABELS = { [EVICTOR]: 'responder' };

function labelled(
  status: ReturnType<typeof turns>,
  labels: Readonly<Record<string, string>> = LABELS,
): ReturnType<typeof eviction> {
  const known = eviction(status);
  return { ...known, metadata: { ...known.metadata, labels } };
}

describe('an Eviction as the engine sees it', () => {
  it('the engine sees the responders as interceptors in their order, and whose turn it is', () => {
    const view = engineView(labelled(turns('Completed', 'Active')), NAMES);
    assert.deepEqual(view?.status?.targetInterceptors, [{ name: A }, { name: NAMES.interceptor }]);
    assert.deepEqual(view?.status?.activeInterceptors, [NAMES.interceptor]);
    assert.deepEqual(view?.status?.processedInterceptors, [A]);
  });

  it('a responder is not active without its label, before the controller has looked, and after the end', () => {
    const known = turns('Completed', 'Active');
    assert.ok(isResponderActive(labelled(known, { [EVICTOR]: 'requester-responder' }), EVICTOR));
    const { observedGeneration: _, ...unseen } = known;
    const end = { type: 'Failed', status: 'True', reason: 'X', message: '', lastTransitionTime: rfc3339(NOW) } as const;
    for (const other of [
      labelled(known, {}),
      labelled(known, { [EVICTOR]: 'requester' }),
      labelled(unseen),
      labelled({ ...known, conditions: [end] }),
      labelled(turns('Active', 'Inactive')),
    ]) {
      assert.ok(!isResponderActive(other, EVICTOR));
    }
  });

  it('the words for a failed attempt can be read back, with the count and the reason', () => {
    const words = evictorMessage('web', failedAttempts(3, 'Blocked by a budget.'), false);
    assert.equal(words, '"web" pod deletion via the /eviction subresource failed (attempts=3): Blocked by a budget.');
    const known = turns('Completed', 'Active');
    const [first] = known.responders ?? [];
    const heartbeatTime = rfc3339(NOW);
    const responders = [
      first ?? { name: A },
      { name: EVICTOR, startTime: heartbeatTime, heartbeatTime, message: words },
    ];
    const view = engineView(labelled({ ...known, responders }), NAMES);
    assert.equal(view?.status?.interceptors?.[1]?.message, failedAttempts(3, 'Blocked by a budget.'));
    assert.ok(view !== undefined);
    // Attempts are 2, 4 and 8 s apart: a process that starts keeps to the pause after the third one.
    assert.deepEqual(rememberedPause(view, NOW + 1_000), {
      ...rememberedPause(view, NOW),
      count: 3,
      nextAt: NOW + 8_000,
    });
  });

  it('the words for the end say whether this program has had the pod evicted', () => {
    const words = evictorMessage('web', 'Pod web is terminating.', true);
    assert.ok(saysEvicted(words));
    assert.ok(!saysEvicted(evictorMessage('web', 'Pod web is terminating.', false)));
    assert.equal(evictorMessage('web', 'something else', true), 'something else');
    assert.equal(endedMessage('web', undefined, true), '"web" pod has been deleted and fully terminated');
    assert.equal(endedMessage('web', 'Failed', false), '"web" pod has been fully terminated (pod phase="Failed")');
  });
});

describe('the report of a responder', () => {
  const startTime = rfc3339(NOW);
  const beat = { name: A, startTime, heartbeatTime: startTime, message: 'working' };

  it('the report repeats every field of its own, and never the start time', () => {
    const report = decideReport({ name: A, startTime }, { message: 'm', expectedFinishAt: NOW + 60_000 }, NOW);
    assert.deepEqual(report, {
      name: A,
      heartbeatTime: startTime,
      message: 'm',
      expectedCompletionTime: rfc3339(NOW + 60_000),
    });
  });

  it('another message within 20 s keeps the heartbeat, and the same one within 3 minutes is not written', () => {
    assert.equal(decideReport(beat, { message: 'working' }, NOW + 179_000), undefined);
    assert.equal(decideReport(beat, { message: 'working' }, NOW + 180_000)?.heartbeatTime, rfc3339(NOW + 180_000));
    assert.equal(decideReport(beat, { message: 'news' }, NOW + 19_000)?.heartbeatTime, startTime);
    assert.equal(decideReport(beat, { message: 'news' }, NOW + 20_000)?.heartbeatTime, rfc3339(NOW + 20_000));
  });

  it('no time goes back behind the start or the last heartbeat, and an estimate that has passed is left out', () => {
    const report = decideReport(beat, { message: 'news', expectedFinishAt: NOW - 5_000 }, NOW - 3_000);
    assert.deepEqual(report, { name: A, heartbeatTime: startTime, message: 'news' });
  });

  it('the completion is written once, with the time that was expected', () => {
    const at = rfc3339(NOW + 1_000);
    const report = decideReport(beat, { message: 'done', completed: true }, NOW + 1_000);
    assert.deepEqual(report, {
      name: A,
      heartbeatTime: at,
      message: 'done',
      expectedCompletionTime: at,
      completionTime: at,
    });
    assert.equal(decideReport({ ...beat, completionTime: at }, { message: 'again' }, NOW + 600_000), undefined);
  });

  it('a message has at most 4000 characters', () => {
    const report = decideReport(beat, { message: '😀'.repeat(5_000) }, NOW + 60_000);
    assert.equal(Array.from(report?.message ?? '').length, 4_000);
  });
});
