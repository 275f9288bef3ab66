import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  attemptsOf,
  endingForMessage,
  endingMessage,
  endingOf,
  readInterceptorMessage,
  refusedMessage,
  shortMessage,
  withoutAttempts,
} from '../../../../src/decide/interceptor/message.ts';

describe('the messages of the interceptors of this product', () => {
  it('the messages are read back as the facts that they were written from', () => {
    const why = 'Blocked by PodDisruptionBudget p0: The disruption budget p0 needs 1 healthy pods and has 1 currently.';
    assert.deepEqual(readInterceptorMessage(refusedMessage(7, why)), { kind: 'refused', attempts: 7, why });
    assert.deepEqual(readInterceptorMessage(endingMessage('web')), { kind: 'ending', more: '' });
    assert.deepEqual(readInterceptorMessage(endingMessage('web', 'So it is.')), { kind: 'ending', more: 'So it is.' });
    assert.deepEqual(readInterceptorMessage(endingForMessage('web', 'disk')), { kind: 'ending', more: '' });
    assert.equal(attemptsOf(refusedMessage(7, why)), 7);
    assert.equal(withoutAttempts(refusedMessage(7, why)), why);
    assert.equal(shortMessage(refusedMessage(7, why)), 'PodDisruptionBudget p0, which needs 1 healthy pod and has 1');
    assert.deepEqual(endingOf(endingMessage('web')), { ending: true });
  });

  for (const text of [
    '',
    'Moving the data.',
    'Pod web is terminating',
    'x is terminating the pod',
    'number of retries: 7. x',
  ]) {
    it(`what others say is none of them: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readInterceptorMessage(text), { kind: 'other', text });
      assert.deepEqual(endingOf(text), {});
      assert.equal(shortMessage(text), text);
    });
  }
});
