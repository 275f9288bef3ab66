/** Every parser of outside data: the cases that were found once, and hostile inputs (docs/internals/development.md). */
import { readdir, readFile, rm } from 'node:fs/promises';
import process from 'node:process';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { FuzzInput, FuzzTarget, FuzzTrial } from '../fuzz/target.ts';
import { TARGETS } from '../fuzz/targets.ts';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { isThorough } from '../support/thorough.ts';

const CORPUS = new URL('../fuzz/corpus/', import.meta.url);
/** The gate tries the same inputs each time: what another one finds must not stop a change that it has nothing to do with. */
const GATE = { seed: 13, numRuns: 100 };
/** A fresh seed each time, which fast-check prints with a find; all targets together stay below the suite's limit for a file. */
const THOROUGH = { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: 8_000 };
const RUNS = isThorough('more than a hundred hostile inputs for each parser, of another seed each time')
  ? THOROUGH
  : GATE;

/** What one input may take: processor time, so that a busy machine finds nothing, and resident memory. */
const MAX_CPU_MS = 1_000;
const MAX_GROWTH = 256 * 1024 * 1024;

/** The inputs that were found for a target. */
async function foundFor({ name }: FuzzTarget): Promise<readonly FuzzInput[]> {
  const folder = new URL(`${name}/`, CORPUS);
  const files = await readdir(folder).catch((): string[] => []);
  const texts = await Promise.all(files.toSorted().map((file) => readFile(new URL(file, folder), 'utf8')));
  return texts.map((text) => (JSON.parse(text) as { readonly input: FuzzInput }).input);
}

async function tryInput(trial: FuzzTrial, input: FuzzInput): Promise<void> {
  const rss = process.memoryUsage.rss();
  const began = process.threadCpuUsage();
  await trial.run(input);
  const { user, system } = process.threadCpuUsage(began);
  const tookMs = (user + system) / 1000;
  if (Object.keys(Object.prototype).length > 0) throw new Error('changed the prototype of all objects');
  if (tookMs > MAX_CPU_MS) throw new Error(`took ${Math.round(tookMs)} ms of the processor`);
  const grown = process.memoryUsage.rss() - rss;
  if (grown > MAX_GROWTH) throw new Error(`memory grew by ${Math.round(grown / 2 ** 20)} MiB`);
}

describe('parsers of outside data', () => {
  for (const target of TARGETS) {
    it(`the parsers survive what was found for ${target.name}, and other hostile inputs`, async () => {
      const folder = await createQuickFolder('fuzz');
      const trial = await target.open(folder);
      try {
        for (const input of await foundFor(target)) await tryInput(trial, input);
        await fc.assert(
          fc.asyncProperty(target.inputs, (input) => tryInput(trial, input)),
          RUNS,
        );
      } finally {
        await trial.close?.();
        await rm(folder, { recursive: true });
      }
    });
  }
});
