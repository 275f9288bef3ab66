import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { logLine } from '../../../src/telemetry/log-line.ts';

const LINE = '{"level":"warn","time":"2026-01-01T12:00:01.000Z","name":"x","step":"a b","count":2,"msg":"it failed"}\n';

describe('a line of the log', () => {
  for (const [level, priority] of [
    ['error', 3],
    ['warn', 4],
    ['info', 6],
    ['debug', 7],
  ] as const) {
    it(`a line of the level ${level} has the priority ${priority} for journald, in front of its JSON`, () => {
      const line = LINE.replace('warn', level);
      assert.equal(logLine(line, 'journal'), `<${priority}>${line}`);
      assert.equal(logLine(line, 'program'), line);
    });
  }

  it('a line on a terminal is text, and controls nothing', () => {
    assert.equal(logLine(LINE, 'terminal'), '12:00:01 warn  it failed step="a b" count=2\n');
    const evil = LINE.replace('a b', String.raw`a\u001b[2J\nb`);
    assert.doesNotMatch(logLine(evil, 'terminal').trimEnd(), /\p{Cc}/u);
  });

  it('an error is one line without a stack, also one with a cause', async () => {
    const log = path.join(import.meta.dirname, '..', '..', '..', 'src', 'telemetry', 'log.ts');
    const program = `const { createLog } = await import(${JSON.stringify(log)});
      createLog('info', 'x').error({ err: new Error('outer', { cause: new Error('inner') }) }, 'it failed');`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    const { err, level } = JSON.parse(stdout) as { err: string; level: string };
    assert.deepEqual([err, level, stdout.split('\n').length], ['outer: inner', 'error', 2]);
  });
});
