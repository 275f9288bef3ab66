import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventually, never, waitFor } from '../../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

describe('a wait of a test', () => {
  it('a wait fails with what its question threw last', async () => {
    const ask = (): never => {
      throw new Error('no answer');
    };
    await assert.rejects(
      waitFor('an answer', ask, { timeoutMs: 10 }),
      ({ cause }: Error) => cause instanceof Error && cause.message === 'no answer',
    );
  });

  it('an assertion may become true', async () => {
    let count = 0;
    await eventually(() => assert.equal((count += 1), 3));
    assert.equal(count, 3);
    await assert.rejects(eventually(() => assert.equal(count, 4), { timeoutMs: 10 }));
  });

  it('what must not be is asked for all the time', async () => {
    let count = 0;
    await never('it is true', () => (count += 1) > 100, 300);
    assert.ok(count > 1);
    await assert.rejects(
      never('it is true', () => true, 300),
      /it is true, within 0.3 s/,
    );
  });
});

/** Lines of test files that match, each with its place. */
function linesOf(files: string, pattern: RegExp): readonly string[] {
  return globSync(files, { cwd: ROOT }).flatMap((file) =>
    readFileSync(path.join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** What other processes do comes in their own time: these are reads of it that no wait repeats. It may only be lowered. */
const READS_AT_ONCE = 38;

describe('the tests', () => {
  it('no test fails because something took long: that is for the benches', () => {
    const elapsed =
      /assert\.ok\(.*(?:(?:performance|Date)\.now\(\) - \w+|\b(?:took|elapsed|late|latency|after)\w*Ms) <=? /;
    assert.deepEqual(linesOf('test/{unit,property,crash,integration,e2e}/**/*.test.ts', elapsed), []);
  });

  it('few tests read only once what another process does', () => {
    const read =
      /^ {4}assert\.\w+\(\s*\(*!?\(?await [\w.]*(?:kubectl|getPod|readAgentStatus|podsOf|podOn|lines|phase)\w*\(/;
    const found = linesOf('test/integration/**/*.test.ts', read);
    assert.ok(
      found.length <= READS_AT_ONCE,
      `${found.length}: write eventually(), see test/README.md\n${found.join('\n')}`,
    );
  });
});
