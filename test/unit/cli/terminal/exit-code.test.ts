import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failedExitCode } from '../../../../src/cli/terminal/exit-code.ts';
import { NodemaintError } from '../../../../src/errors.ts';

/** The exit code and what was printed. */
function failed(error: unknown, isAborted = false): readonly [number, string] {
  const printed: string[] = [];
  const signal = isAborted ? AbortSignal.abort() : new AbortController().signal;
  const warn = (text: string): void => void printed.push(text);
  return [failedExitCode(error, { warn, stop: signal, signal }), printed.join('')];
}

describe('the exit code of a command that failed', () => {
  it('a wrong command line and an invalid configuration are 2, every other error that a person can act on is 1', () => {
    assert.deepEqual(failed(new NodemaintError('USAGE', 'name a node')), [2, 'nodemaint: name a node\n']);
    assert.deepEqual(failed(new NodemaintError('CONFIG_INVALID', 'x is wrong')), [2, 'nodemaint: x is wrong\n']);
    assert.deepEqual(failed(new NodemaintError('API_UNREACHABLE', 'no answer')), [1, 'nodemaint: no answer\n']);
  });

  it('a command that was ended by a signal is 1, and prints nothing about what that broke', () => {
    assert.deepEqual(failed(new Error('aborted'), true), [1, '']);
  });

  it('a defect of the program is not hidden', () => {
    assert.throws(() => failed(new TypeError('x is undefined')), TypeError);
  });
});
