import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { formatFor, logLine } from '../../../src/telemetry/log-line.ts';

const LINE = '{"level":"warn","time":"2026-01-01T12:00:01.000Z","name":"x","step":"a b","count":2,"msg":"it failed"}\n';

describe('a line of the log', () => {
  for (const [level, priority] of [
    ['error', 3],
    ['warn', 4],
    ['info', 6],
    ['debug', 7],
  ] as const) {
    it(`a line of the level ${level} has the priority ${priority} for journald, and begins with its sentence`, () => {
      const line = LINE.replace('warn', level);
      assert.equal(logLine(line, { reader: 'journal', format: 'text' }), `<${priority}>it failed step="a b" count=2\n`);
      assert.equal(logLine(line, { reader: 'journal', format: 'json' }), `<${priority}>${line}`);
      assert.equal(logLine(line, { reader: 'program', format: 'json' }), line);
    });
  }

  it('a person gets text and a program JSON, unless the configuration says otherwise', () => {
    assert.deepEqual(
      (['journal', 'terminal', 'program'] as const).map((reader) => [formatFor(reader), formatFor(reader, 'json')]),
      [
        ['text', 'json'],
        ['text', 'json'],
        ['json', 'json'],
      ],
    );
    assert.equal(formatFor('program', 'text'), 'text');
  });

  it('a line as text has its time where nothing else tells it, and controls nothing', () => {
    const text = '12:00:01 warn  it failed step="a b" count=2\n';
    assert.equal(logLine(LINE, { reader: 'terminal', format: 'text' }), text);
    const found = logLine(LINE, { reader: 'program', format: 'text' });
    assert.equal(found, `2026-01-01T12:00:01.000Z warn  it failed step="a b" count=2\n`);
    const evil = LINE.replace('a b', String.raw`a\u001b[2J\nb`);
    for (const reader of ['terminal', 'journal', 'program'] as const)
      assert.doesNotMatch(logLine(evil, { reader, format: 'text' }).trimEnd(), /\p{Cc}/u);
  });

  it('what a client is told in several lines stays one line of the journal', () => {
    const line = LINE.replace('it failed', String.raw`it\n<0>failed`);
    assert.equal(logLine(line, { reader: 'journal', format: 'text' }).split('\n').length, 2);
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
