import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { buildGo, cacheFolder, isProgram } from '../support/go-program.ts';

const KUBERNETES = 'v1.36.3';
const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kubectl'] as const;
export type Binary = (typeof NAMES)[number];
/** The path of each component's program. */
export type Binaries = Readonly<Record<Binary, string>>;

const MODULE = import.meta.dirname;
const STAMPS = [
  `k8s.io/component-base/version.gitVersion=${KUBERNETES}`,
  'k8s.io/component-base/version.gitMajor=1',
  'k8s.io/component-base/version.gitMinor=36',
  `k8s.io/client-go/pkg/version.gitVersion=${KUBERNETES}`,
];
const LDFLAGS = STAMPS.map((stamp) => `-X ${stamp}`).join(' ');

/** Where built programs are kept, by what they were built from. */
async function cacheDirectory(): Promise<string> {
  const hash = createHash('sha256').update(`-s -w ${LDFLAGS}`);
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(MODULE, file)));
  return path.join(cacheFolder('control-plane'), hash.digest('hex').slice(0, 16));
}

async function isComplete(directory: string): Promise<boolean> {
  const present = await Promise.all(NAMES.map((name) => isProgram(path.join(directory, name))));
  return present.every(Boolean);
}

/** Builds all components into `directory`, which appears whole or not at all. */
async function build(directory: string, signal: AbortSignal): Promise<void> {
  process.stderr.write(
    `building Kubernetes ${KUBERNETES} and etcd from their Go modules into ${directory}; some minutes, once\n`,
  );
  await mkdir(path.dirname(directory), { recursive: true });
  const temporary = await mkdtemp(`${directory}.`);
  try {
    const unless = { lock: `${directory}.lock`, program: path.join(directory, 'kubelet') };
    await buildGo({ module: MODULE, ldflags: LDFLAGS, into: `${temporary}/`, unless }, signal);
    if (await isComplete(directory)) return;
    await rename(path.join(temporary, 'server'), path.join(temporary, 'etcd'));
    await rm(directory, { recursive: true, force: true });
    await rename(temporary, directory);
  } catch (error) {
    if (!(await isComplete(directory))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * The programs of the control plane: those of KUBEBUILDER_ASSETS where it is set, the others from the cache, where they
 * are built once from the Go modules that go.mod pins.
 */
export async function controlPlaneBinaries(signal: AbortSignal): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const directory = await cacheDirectory();
  const found: Partial<Record<Binary, string>> = {};
  for (const name of NAMES) {
    const given = path.join(assets ?? '', name);
    found[name] = assets !== undefined && (await isProgram(given)) ? given : path.join(directory, name);
  }
  const needsBuild = NAMES.some((name) => found[name]?.startsWith(`${directory}/`) === true);
  if (needsBuild && !(await isComplete(directory))) await build(directory, signal);
  return found as Binaries;
}
