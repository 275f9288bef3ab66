import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { assertDeclared } from '../needs/declared.ts';
import { buildGo, cacheFolder, isProgram } from '../support/go-program.ts';
import { clientPrograms } from './clients.ts';
import { defaultRelease, type Release, wantedRelease } from './releases.ts';

const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet'] as const;
type Built = (typeof NAMES)[number];
export type Binary = Built | 'kubectl';
/** The path of each component's program. */
export type Binaries = Readonly<Record<Binary, string>>;

/** What the linker writes into the programs. */
export function linkerFlags({ minor, version }: Release): string {
  const stamps = [
    `k8s.io/component-base/version.gitVersion=${version}`,
    'k8s.io/component-base/version.gitMajor=1',
    `k8s.io/component-base/version.gitMinor=${minor.slice(2)}`,
    `k8s.io/client-go/pkg/version.gitVersion=${version}`,
  ];
  return stamps.map((stamp) => `-X ${stamp}`).join(' ');
}

/** Where the built programs of a release are kept, by what they were built from. */
async function cacheDirectory(release: Release): Promise<string> {
  const hash = createHash('sha256').update(`-s -w ${linkerFlags(release)}`);
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(release.module, file)));
  return path.join(cacheFolder('control-plane'), hash.digest('hex').slice(0, 16));
}

/** Those of the programs that are not in the folder. */
async function lacking(directory: string, names: readonly Built[]): Promise<readonly Built[]> {
  const present = await Promise.all(names.map((name) => isProgram(path.join(directory, name))));
  return names.filter((_, index) => present[index] !== true);
}

function packageOf(name: Built): string {
  return name === 'etcd' ? 'go.etcd.io/etcd/server/v3' : `k8s.io/kubernetes/cmd/${name}`;
}

/** Builds programs of a release that its folder lacks; each appears whole or not at all. */
async function build(release: Release, names: readonly Built[], signal: AbortSignal): Promise<string> {
  const directory = await cacheDirectory(release);
  const missing = await lacking(directory, names);
  const last = missing.at(-1);
  if (last === undefined) return directory;
  const what = `${missing.join(', ')} (Kubernetes ${release.version})`;
  process.stderr.write(`building ${what} from Go modules into ${directory}; some minutes, once\n`);
  await mkdir(directory, { recursive: true });
  const temporary = await mkdtemp(`${directory}.`);
  try {
    const unless = { lock: `${directory}.lock`, program: path.join(directory, last) };
    const packages = missing.map(packageOf);
    const ldflags = linkerFlags(release);
    await buildGo({ module: release.module, packages, ldflags, into: `${temporary}/`, unless }, signal);
    // Another process may have built them meanwhile.
    for (const name of await lacking(directory, missing)) {
      const built = path.join(temporary, name === 'etcd' ? 'server' : name);
      await rename(built, path.join(directory, name));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return directory;
}

/** All programs of a release, built where the cache lacks them. */
export async function releaseBinaries(release: Release, signal: AbortSignal): Promise<Binaries> {
  const directory = await build(release, NAMES, signal);
  const built = NAMES.map((name) => [name, path.join(directory, name)] as const);
  const { kubectl } = await clientPrograms(signal);
  return { ...(Object.fromEntries(built) as Record<Built, string>), kubectl };
}

/**
 * The programs of the control plane: those of KUBEBUILDER_ASSETS where it is set, the others from the cache, where they
 * are built once from the Go modules that a go.mod pins. They are of the release that NODEMAINT_KUBERNETES names, except
 * etcd and kubectl.
 */
export async function controlPlaneBinaries(signal: AbortSignal): Promise<Binaries> {
  assertDeclared('kubernetes');
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const found: Partial<Record<Binary, string>> = {};
  for (const name of [...NAMES, 'kubectl'] as const) {
    const given = path.join(assets ?? '', name);
    if (assets !== undefined && (await isProgram(given))) found[name] = given;
  }
  const missing = NAMES.filter((name) => found[name] === undefined);
  const groups = [
    { release: defaultRelease(), names: missing.filter((name) => name === 'etcd') },
    { release: wantedRelease(), names: missing.filter((name) => name !== 'etcd') },
  ];
  for (const { release, names } of groups) {
    const directory = await build(release, names, signal);
    for (const name of names) found[name] = path.join(directory, name);
  }
  found.kubectl ??= (await clientPrograms(signal)).kubectl;
  return found as Binaries;
}
