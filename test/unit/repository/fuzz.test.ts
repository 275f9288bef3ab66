/** Every parser of outside data: the cases that fuzzing has found, and some inputs of a fixed seed (docs/internals/fuzzing.md). */
import { readdir, readFile, rm } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { batchOf } from '../../fuzz/inputs.ts';
import type { FuzzInput, FuzzTarget } from '../../fuzz/target.ts';
import { TARGETS } from '../../fuzz/targets.ts';
import { createQuickFolder } from '../../support/disks/quick-folder.ts';

const CORPUS = new URL('../../fuzz/corpus/', import.meta.url);
const SEED = 13;

/** The inputs that were found for a target. */
async function foundFor({ name }: FuzzTarget): Promise<readonly FuzzInput[]> {
  const folder = new URL(`${name}/`, CORPUS);
  const files = await readdir(folder).catch((): string[] => []);
  const texts = await Promise.all(files.toSorted().map((file) => readFile(new URL(file, folder), 'utf8')));
  return texts.map((text) => (JSON.parse(text) as { readonly input: FuzzInput }).input);
}

describe('parsers of outside data', () => {
  for (const target of TARGETS) {
    it(`the parsers survive what was found for ${target.name}, and other hostile inputs`, async () => {
      const folder = await createQuickFolder('fuzz');
      const trial = await target.open(folder);
      try {
        for (const input of [...(await foundFor(target)), ...batchOf(target, SEED, 0)]) await trial.run(input);
      } finally {
        await trial.close?.();
        await rm(folder, { recursive: true });
      }
    });
  }
});
