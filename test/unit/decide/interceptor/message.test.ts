import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  attemptsOf,
  blockedWords,
  endingForMessage,
  endingMessage,
  readInterceptorMessage,
  refusedMessage,
  shortMessage,
  failedWords,
} from '../../../../src/decide/interceptor/message.ts';

describe('the messages of the interceptors of this product', () => {
  it('the messages are read back as the facts that they were written from', () => {
    const budget = 'PodDisruptionBudget p0, which needs 1 healthy pod and has 1';
    const why = blockedWords(budget);
    const blocked = { kind: 'refused', attempts: 7, by: 'budget', why: budget };
    assert.deepEqual(readInterceptorMessage(refusedMessage(7, why)), blocked);
    const other = { kind: 'refused', attempts: 7, by: 'other', why: 'HTTP 403: no PodDisruptionBudget' };
    assert.deepEqual(readInterceptorMessage(refusedMessage(7, other.why)), other);
    assert.deepEqual(readInterceptorMessage(endingMessage('web')), { kind: 'ending', more: '' });
    assert.deepEqual(readInterceptorMessage(endingMessage('web', 'So it is.')), { kind: 'ending', more: 'So it is.' });
    assert.deepEqual(readInterceptorMessage(endingForMessage('web', 'disk')), { kind: 'ending', more: '' });
    assert.equal(attemptsOf(refusedMessage(7, why)), 7);
    const failed = failedWords('HTTP 500');
    assert.deepEqual(readInterceptorMessage(failed), { kind: 'refused', attempts: 0, by: 'failure', why: failed });
    assert.equal(shortMessage(refusedMessage(7, why)), budget);
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
      assert.equal(shortMessage(text), text);
    });
  }
});
