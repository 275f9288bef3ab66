import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';

const CLI = path.resolve('src/cli');
/** The folders of the command line that every command may import. */
const SHARED = ['arguments', 'cluster', 'follow', 'machine', 'terminal'];

/** The files of src/cli that a file of src/cli imports, as types too, relative to src/cli. */
async function importsOf(file: string): Promise<readonly string[]> {
  const text = await readFile(path.join(CLI, file), 'utf8');
  const targets = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, target = '']) =>
    path.relative(CLI, path.resolve(CLI, path.dirname(file), target)),
  );
  return targets.filter((target) => !target.startsWith('..'));
}

describe('the folders of the command line', () => {
  it('the folders of the command line import no folder of another command, and never the composition root', async () => {
    const wrong: string[] = [];
    let checked = 0;
    for await (const file of glob('**/*.ts', { cwd: CLI })) {
      if (file === 'program.ts') continue;
      const own = path.dirname(file).split(path.sep)[0] ?? '';
      for (const target of await importsOf(file)) {
        const folder = path.dirname(target).split(path.sep)[0] ?? '';
        const isAllowed = folder === own || (folder === '.' && target !== 'program.ts') || SHARED.includes(folder);
        checked += 1;
        if (!isAllowed) wrong.push(`${file} imports ${target}`);
      }
    }
    assert.ok(checked > 50, `${checked} imports were checked`);
    assert.deepEqual(wrong, []);
  });

  it('the folders of the command line do not import a command from what all commands share', async () => {
    const wrong: string[] = [];
    for await (const file of glob(['*.ts', ...SHARED.map((folder) => `${folder}/**/*.ts`)], { cwd: CLI })) {
      if (file === 'program.ts') continue;
      for (const target of await importsOf(file)) {
        const folder = path.dirname(target).split(path.sep)[0] ?? '';
        if (folder !== '.' && !SHARED.includes(folder)) wrong.push(`${file} imports ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
});
