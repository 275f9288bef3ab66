import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFollowedConnection, denialOf } from '../../../../src/cli/follow/connection.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('a denial', () => {
  const denials = [
    'pods is forbidden: User "u" cannot watch resource "pods" in API group "" in the namespace "default"',
    'the API server does not accept these credentials: Unauthorized',
    'the watch on pods ended with 401',
    'the watch on pods ended with 403',
    'the API server answered 404: the server could not find the requested resource',
  ];
  for (const message of denials) {
    it(`a denial is "${message.slice(0, 50)}"`, () => {
      const denial = denialOf(new NodemaintError('API_REFUSED', message));
      assert.equal(denial?.code, 'API_REFUSED');
      assert.ok(denial.message.startsWith(message));
    });
  }

  const others: readonly (readonly [string, unknown])[] = [
    [
      'an answer of a server in trouble',
      new NodemaintError('API_REFUSED', 'the API server answered 500: etcd is down'),
    ],
    ['a watch that ended with 410', new NodemaintError('API_REFUSED', 'the watch on pods ended with 410')],
    ['a connection that failed', new NodemaintError('API_UNREACHABLE', 'Unauthorized is the name of the proxy')],
    ['another error', new Error('is forbidden')],
  ];
  for (const [what, error] of others) {
    it(`a denial is not ${what}`, () => {
      assert.equal(denialOf(error), undefined);
    });
  }
});

describe('a connection', () => {
  it('a connection has a note until the next try must have been answered', () => {
    const clock = createSteppingClock();
    const connection = createFollowedConnection(clock);
    connection.failed(new Error('ECONNRESET'), 1_000);
    clock.pass(3_500);
    assert.equal(connection.note(), 'The connection is lost; trying again: ECONNRESET');
    clock.pass(1);
    assert.equal(connection.note(), undefined);
  });

  it('a connection measures an outage on the clock that nothing sets', () => {
    const clock = createSteppingClock();
    const connection = createFollowedConnection(clock);
    connection.failed(new Error('x'), 0);
    clock.set(86_400_000);
    assert.notEqual(connection.note(), undefined);
  });
});
