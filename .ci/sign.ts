/**
 * `npm run sign -- KEY`: signs dist/release/SHA256SUMS with minisign and a secret key that whoever releases brings, which is
 * on no machine that builds. minisign asks for the password of the key. What it signs is checked before: each file is what
 * the list says, and each is in the list.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { parseSums, sha256 } from './pins/pins.ts';
import { UNCHECKED } from './pins/published.ts';

const SUMS = 'SHA256SUMS';
const SIGNATURE = `${SUMS}.minisig`;

/** Throws an Error where a folder has not exactly the files of its list, each with its hash. */
async function checkRelease(folder: string): Promise<number> {
  const sums = parseSums(await readFile(path.join(folder, SUMS), 'utf8'), SUMS);
  const found = (await readdir(folder)).filter((name) => name !== SUMS && name !== SIGNATURE);
  if (found.includes(UNCHECKED)) throw new Error(`it has the file ${UNCHECKED}: make it again where nodejs.org can be reached, or with --node-shasums`);
  const unlisted = found.filter((name) => !sums.has(name));
  if (unlisted.length > 0) throw new Error(`${SUMS} does not name ${unlisted.join(', ')}`);
  for (const [name, sum] of sums) {
    if (!found.includes(name)) throw new Error(`${name} of ${SUMS} is not in ${folder}`);
    if (sha256(await readFile(path.join(folder, name))) !== sum) throw new Error(`${name} is not what ${SUMS} says`);
  }
  return sums.size;
}

async function runMinisign(args: readonly string[]): Promise<void> {
  const minisign = spawn('minisign', args, { stdio: 'inherit' });
  await new Promise<void>((resolve, reject) => {
    minisign.once('error', (error) => {
      reject(new Error(`minisign cannot be started (apt-get install minisign): ${error.message}`));
    });
    minisign.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`minisign ended with ${code}; nothing is signed`))));
  });
}

const { values, positionals } = parseArgs({
  options: { folder: { type: 'string', default: path.join(import.meta.dirname, '..', 'dist', 'release') } },
  allowPositionals: true,
});
const [key] = positionals;
try {
  if (key === undefined || positionals.length > 1) throw new Error('usage: npm run sign -- KEY [--folder DIR]; KEY is the file of a secret key of minisign');
  const count = await checkRelease(values.folder);
  const comment = `${packageJson.name} ${packageJson.version}`;
  await runMinisign(['-S', '-s', key, '-m', path.join(values.folder, SUMS), '-x', path.join(values.folder, SIGNATURE), '-t', comment, '-c', comment]);
  console.log(`${path.join(values.folder, SIGNATURE)} signs ${count} files`);
} catch (error) {
  console.error(`sign: ${(error as Error).message}`);
  process.exitCode = 1;
}
