import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFollowedConnection, denialOf } from '../../../../src/cli/follow/connection.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('a denial', () => {
  const refusedWith = (status: number): NodemaintError =>
    new NodemaintError('API_REFUSED', 'User "u" cannot watch resource "pods" in API group ""', { status });

  it('a denial is a refusal that will last, with the permission that is missing', () => {
    for (const status of [401, 403, 404])
      assert.match(denialOf(refusedWith(status))?.message ?? '', /; missing permission: the verb watch on pods/);
    const others = [refusedWith(500), refusedWith(410), new NodemaintError('API_UNREACHABLE', '403'), new Error('403')];
    for (const error of others) assert.equal(denialOf(error), undefined);
  });
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
