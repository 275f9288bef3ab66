/** Compares the pinned Node.js with what its authors publish: the archives of nodejs.org, and the list of their hashes. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import packageJson from '../../package.json' with { type: 'json' };
import { type Architecture, ARCHITECTURES, nodeName } from '../architecture.ts';
import { parseSums, type Pins } from './pins.ts';

const NODE_NAMES = { amd64: 'x64', arm64: 'arm64' } as const;
const SUMS = 'SHASUMS256.txt';
/** The file of a release whose Node.js was not compared with the published one. */
export const UNCHECKED = 'NODE_UNCHECKED';
const TIMEOUT_MS = 300_000;

/** The list of hashes as it is published, and the folder in which the archives lie. */
export interface Published {
  readonly sums: string;
  readonly archives: string;
}

/** The version of the Node.js of an architecture. */
function versionOf(architecture: Architecture): string {
  return packageJson.optionalDependencies[`node-linux-${NODE_NAMES[architecture]}`];
}

/** The name of the folder that an archive of nodejs.org has; the archive has it with `.tar.gz`. */
export function publishedName(architecture: Architecture): string {
  return `node-v${versionOf(architecture)}-linux-${NODE_NAMES[architecture]}`;
}

async function sumOfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** The sha256 of a file in an archive. */
async function sumOfMember(archive: string, member: string): Promise<string> {
  const tar = spawn('tar', ['-xzOf', archive, member], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve, reject) => {
    tar.once('error', reject);
    tar.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${archive} has no ${member} that can be read`))));
  });
  const hash = createHash('sha256');
  await Promise.all([pipeline(tar.stdout, hash), ended]);
  return hash.digest('hex');
}

/** Throws an Error where an archive is not the published one, or has another Node.js than the pinned one. */
export async function compareWithPublished({ sums, archives }: Published, pins: Pins): Promise<void> {
  const published = parseSums(await readFile(sums, 'utf8'), sums);
  for (const architecture of ARCHITECTURES) {
    const folder = publishedName(architecture);
    const archive = path.join(archives, `${folder}.tar.gz`);
    const [found, expected] = [await sumOfFile(archive), published.get(`${folder}.tar.gz`)];
    if (expected === undefined) throw new Error(`${sums} does not name ${folder}.tar.gz`);
    if (found !== expected) throw new Error(`${archive} has the sha256 ${found}, not ${expected} as ${sums} says`);
    const [name, binary] = [nodeName(architecture), await sumOfMember(archive, `${folder}/bin/node`)];
    if (binary !== pins.get(name)) {
      throw new Error(`${name} is not the Node.js of ${folder}.tar.gz: the sha256 there is ${binary}, and ${pins.get(name) ?? 'none'} is pinned`);
    }
  }
}

/** Fetches the list and the archives into a folder. Rejects with an Error that says what to do where that host cannot be reached. */
export async function fetchPublished(folder: string): Promise<Published> {
  const base = `https://nodejs.org/dist/v${versionOf('amd64')}`;
  const names = [SUMS, ...ARCHITECTURES.map((architecture) => `${publishedName(architecture)}.tar.gz`)];
  try {
    for (const name of names) {
      const answer = await fetch(`${base}/${name}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!answer.ok) throw new Error(`the answer was ${answer.status}`);
      await writeFile(path.join(folder, name), Buffer.from(await answer.arrayBuffer()));
    }
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    throw new Error(`${base} cannot be read: ${why}; name copies with --node-shasums and --node-archives, or make a release that nobody can sign with --node-unchecked`);
  }
  return { sums: path.join(folder, SUMS), archives: folder };
}
