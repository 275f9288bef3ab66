import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeError, NodemaintError } from '../../src/errors.ts';

describe('the description of an error', () => {
  it('each cause is told once, also where a message has it already', () => {
    const cause = new Error('connect ENOENT /run/x');
    const inner = new NodemaintError('USAGE', `no connection to the bus: ${cause.message}`, { cause });
    const outer = new NodemaintError('USAGE', 'cannot call Get', { cause: inner });
    assert.equal(describeError(outer), 'cannot call Get: no connection to the bus: connect ENOENT /run/x');
    assert.equal(describeError(new Error('a', { cause: 'b' })), 'a: b');
    assert.equal(describeError('text'), 'text');
    const both = new AggregateError([
      new Error('::1 refused'),
      new Error('127.0.0.1 refused'),
      new Error('::1 refused'),
    ]);
    assert.equal(describeError(new Error('no answer', { cause: both })), 'no answer: ::1 refused; 127.0.0.1 refused');
    assert.equal(describeError(new Error('')), 'it failed without a reason');
  });
});
