import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { createOwnProgram } from '../../../../src/cli/machine/own-program.ts';
import { inSandbox } from '../../../support/agent/sandbox.ts';
import { nodemaintCommand } from '../../../support/commands/nodemaint.ts';
import { temporaryFolder } from '../../../support/folder.ts';

/** A program that prints a text and ends with an exit code, whatever it is asked. */
async function printing(t: TestContext, text: string, code = 0): Promise<readonly [string, string]> {
  const file = path.join(await temporaryFolder(t, 'own-program'), 'program.cjs');
  await writeFile(file, `process.stdout.write(${JSON.stringify(text)}); process.exitCode = ${code};`);
  return [process.execPath, file];
}

function checks(...results: readonly string[]): string {
  const items = results.map((result, index) => ({ name: `check ${index}`, result }));
  return JSON.stringify({ kind: 'CheckList', items });
}

describe('what the agent has this program do', () => {
  it('the checks of this program are read to their worst result, and the machine to its facts', async (t) => {
    await inSandbox(async ({ configFile, writeConfig }) => {
      await writeConfig({ nodeName: 'n' });
      const own = createOwnProgram(nodemaintCommand([]));
      // Without an agent the check of its lock fails.
      const { doctor, checks: failed } = await own.doctor(configFile, t.signal);
      assert.equal(doctor, 'fail');
      assert.ok(failed.includes('lock'), failed.join());
      const facts = Object.keys(await own.machineFacts(t.signal)).toSorted();
      assert.deepEqual(facts, ['assetTag', 'manufacturer', 'model', 'serial', 'uuid']);
    });
  });

  it('the result is the worst of the checks, also where the exit code says that one fails', async (t) => {
    const cases = [
      [['ok', 'ok'], 0, { doctor: 'ok', checks: [] }],
      [['ok', 'warn'], 0, { doctor: 'warn', checks: ['check 1'] }],
      [['warn', 'fail', 'fail'], 1, { doctor: 'fail', checks: ['check 1', 'check 2'] }],
    ] as const;
    for (const [results, code, worst] of cases) {
      const own = createOwnProgram(await printing(t, checks(...results), code));
      assert.deepEqual(await own.doctor('x', t.signal), worst);
    }
  });

  it('a program that prints something else, fails, or prints no check is an error and no result', async (t) => {
    for (const [text, code] of [
      ['', 1],
      ['[]', 0],
      [checks(), 0],
      [checks('good'), 0],
      [checks('ok'), 2],
      ['x'.repeat(3_000_000), 0],
    ] as const) {
      const own = createOwnProgram(await printing(t, text, code));
      await assert.rejects(own.doctor('x', t.signal), Error, `${text.slice(0, 40)} ${code}`);
    }
  });

  it('an agent that ends takes the program with it', async (t) => {
    const file = path.join(await temporaryFolder(t, 'own-program'), 'program.cjs');
    await writeFile(file, 'setInterval(() => undefined, 1000);');
    const stop = new AbortController();
    const asked = createOwnProgram([process.execPath, file]).doctor('x', stop.signal);
    stop.abort();
    await assert.rejects(asked, { name: 'AbortError' });
  });
});
