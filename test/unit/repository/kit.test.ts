/** The kit for interceptors, as a program outside this checkout finds it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import packageJson from '../../../package.json' with { type: 'json' };
import { importsOf, importsOfPackages } from '../../structure/imports.ts';
import { temporaryFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const TSC = path.join(ROOT, 'node_modules', '.bin', 'tsc');

/** What the compiler says of a program; empty for nothing. */
async function compile(folder: string, program: string): Promise<string> {
  await writeFile(path.join(folder, 'program.ts'), program);
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node', 'program.ts'];
  return await promisify(execFile)(TSC, flags, { cwd: folder }).then(
    () => '',
    (error: unknown) => (error as { stdout: string }).stdout,
  );
}

describe('the kit for interceptors', () => {
  it('the kit has types in a program that installs it, by which the example is right and a wrong step is an error', async (t) => {
    const folder = await temporaryFolder(t, 'kit');
    const installed = path.join(folder, 'node_modules', packageJson.name);
    await mkdir(path.join(folder, 'node_modules', '@types'), { recursive: true });
    await mkdir(installed);
    await symlink(path.join(ROOT, 'node_modules', '@types', 'node'), path.join(folder, 'node_modules/@types/node'));
    await writeFile(path.join(folder, 'package.json'), '{"type": "module"}');
    await symlink(path.join(ROOT, 'node_modules'), path.join(installed, 'node_modules'));
    await copyFile(path.join(ROOT, 'package.json'), path.join(installed, 'package.json'));
    const types = path.dirname(path.join(installed, packageJson.exports['./interceptor'].types));
    await promisify(execFile)(TSC, ['-p', path.join(ROOT, '.ci', 'interceptor.json'), '--outDir', types]);
    const example = await readFile(path.join(ROOT, 'examples', 'surge', 'surge.ts'), 'utf8');
    assert.equal(await compile(folder, example), '');
    assert.match(await compile(folder, example.replace("kind: 'completed'", "kind: 'done'")), /'"done"'/);
  });

  it('the examples import the kit and nothing else of the product, and nothing imports an example', async () => {
    const examples = globSync('examples/**/*.ts', { cwd: ROOT });
    const packages = await importsOfPackages(ROOT, examples);
    assert.deepEqual([...new Set(packages.map(({ name }) => name))], [packageJson.name]);
    const files = [...examples, ...globSync('{src,test}/**/*.ts', { cwd: ROOT })].map((file) => path.join(ROOT, file));
    const isExample = (file: string): boolean => file.startsWith(path.join(ROOT, 'examples'));
    const found = (await importsOf(files)).filter(({ from, to }) => isExample(from) || isExample(to));
    assert.deepEqual(found, []);
  });
});
