import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { createConnectionLoss } from '../../../src/kube/connection-loss.ts';

const AWAY = new NodemaintError('API_UNREACHABLE', 'away');
const REFUSED = new NodemaintError('API_REFUSED', 'RBAC: role not found');

/** What is said of these failures, each at its time in seconds. */
function after(...failures: readonly (readonly [sec: number, error: unknown])[]): readonly string[] {
  let now = 0;
  const loss = createConnectionLoss({ now: () => 0, monotonic: () => now, sleep: () => Promise.resolve() });
  return failures.map(([sec, error]) => {
    now = sec * 1000;
    return loss.failed(error);
  });
}

describe('the loss of the connection to the API server', () => {
  it('a server that was not away is believed when it refuses', () => {
    assert.deepEqual(after([0, REFUSED], [1, REFUSED]), ['failed', 'failed']);
  });

  it('a server that was away may refuse for ten seconds after its first answer, however long it was away', () => {
    assert.deepEqual(after([0, AWAY], [300, AWAY], [600, REFUSED], [609, REFUSED], [610, REFUSED]), [
      'failed',
      'failed',
      'warming-up',
      'warming-up',
      'failed',
    ]);
  });

  it('a server that goes away again begins anew, and another error than a refusal is a failure in any case', () => {
    assert.deepEqual(after([0, AWAY], [1, REFUSED], [9, AWAY], [12, REFUSED], [21, REFUSED], [22, new Error('x')]), [
      'failed',
      'warming-up',
      'failed',
      'warming-up',
      'warming-up',
      'failed',
    ]);
  });

  it('a list that succeeds ends the loss, and says once whether there was one', () => {
    const loss = createConnectionLoss({ now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() });
    assert.equal(loss.restored(), false);
    loss.failed(AWAY);
    assert.equal(loss.restored(), true);
    assert.equal(loss.restored(), false);
    assert.equal(loss.failed(REFUSED), 'failed');
  });
});
