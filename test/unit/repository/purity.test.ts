import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** The layers of rules by which somebody acts, and of what people see. */
const LAYERS = ['decide', 'show'] as const;
/** What the lint rule cannot see: the current time by way of a constructor or a function call without arguments. */
const CURRENT_TIME = /new Date\(\s*\)|\bDate\(\s*\)/;

const IMPURE: Readonly<Record<string, string>> = {
  'a file system import': "import { readFile } from 'node:fs/promises';\nexport const x = readFile;\n",
  'a library': "import * as z from 'zod';\nexport const x = z;\n",
  'an effect': "import { createSystemClock } from '../../../host/clock.ts';\nexport const x = createSystemClock;\n",
  'the current time': 'export const x = (): number => Date.now();\n',
  'a random number': 'export const x = (): number => Math.random();\n',
  'the process': 'export const x = (): string => process.cwd();\n',
  'the console': "export const x = (): void => console.log('x');\n",
  'a timer': 'export const x = (): unknown => setTimeout(() => undefined, 1);\n',
  'the network': "export const x = (): unknown => fetch('http://127.0.0.1');\n",
};
const PURE: Readonly<Record<string, string>> = {
  'a type of an effect': "import type { Clock } from '../../../host/clock.ts';\nexport type X = Clock;\n",
  'another rule': "import { podKey } from '../../static-pod/moves.ts';\nexport const x = podKey;\n",
  'a given time': 'export const x = (now: number): string => new Date(now).toISOString();\n',
};

/** Runs the project's lint rules on one file as if it lay in the layer; returns what they say, empty for nothing. */
async function lint(layer: string, source: string, place = 'noun/rule.ts'): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-purity-'));
  try {
    const file = path.join(folder, 'src', layer, place);
    await mkdir(path.dirname(file), { recursive: true });
    await copyFile(path.join(ROOT, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'));
    await writeFile(file, source);
    const oxlint = path.join(ROOT, 'node_modules', '.bin', 'oxlint');
    return await new Promise((resolve) => {
      execFile(oxlint, ['src'], { cwd: folder }, (error, stdout) => resolve(error === null ? '' : stdout));
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

for (const layer of LAYERS) {
  describe(`the purity of src/${layer}`, () => {
    for (const [name, source] of Object.entries(IMPURE)) {
      it(`the check refuses ${name}`, async () => {
        assert.match(await lint(layer, source), /no-restricted/);
      });
    }

    for (const place of ['rule.ts', 'noun/rule.ts', 'a/folder/made/later/rule.ts']) {
      it(`the check refuses effects in ${place}`, async () => {
        const up = '../'.repeat(place.split('/').length);
        const source = `import { createSystemClock } from '${up}host/clock.ts';\nexport const x = createSystemClock;\n`;
        assert.match(await lint(layer, source, place), /no-restricted/);
      });
    }

    for (const [name, source] of Object.entries(PURE)) {
      it(`the check allows ${name}`, async () => {
        assert.equal(await lint(layer, source), '');
      });
    }

    it(`src/${layer} never asks for the current time`, async () => {
      assert.match('const x = new Date();', CURRENT_TIME);
      assert.doesNotMatch('const x = new Date(now);', CURRENT_TIME);
      const below = path.join(ROOT, 'src', layer);
      const files = (await readdir(below, { recursive: true })).filter((file) => file.endsWith('.ts'));
      assert.ok(files.some((file) => file.includes(path.sep)));
      for (const file of files) {
        assert.doesNotMatch(await readFile(path.join(below, file), 'utf8'), CURRENT_TIME, file);
      }
    });
  });
}
