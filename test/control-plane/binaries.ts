import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { assertDeclared } from '../needs/declared.ts';
import { buildGo, cacheFolder, isProgram } from '../support/go-program.ts';
import { defaultRelease, type Release, wantedRelease } from './releases.ts';

const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kubectl'] as const;
export type Binary = (typeof NAMES)[number];
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
async function lacking(directory: string, names: readonly Binary[]): Promise<readonly Binary[]> {
  const present = await Promise.all(names.map((name) => isProgram(path.join(directory, name))));
  return names.filter((_, index) => present[index] !== true);
}

function packageOf(name: Binary): string {
  return name === 'etcd' ? 'go.etcd.io/etcd/server/v3' : `k8s.io/kubernetes/cmd/${name}`;
}

/** Builds programs of a release that its folder lacks; each appears whole or not at all. */
async function build(release: Release, names: readonly Binary[], signal: AbortSignal): Promise<string> {
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

/** Releases that a test asks for by itself, whatever KUBEBUILDER_ASSETS and NODEMAINT_KUBERNETES say. */
export interface AskedReleases {
  /** Of kube-apiserver alone. */
  readonly apiServer?: Release;
  /** Of everything but etcd. */
  readonly release?: Release;
}

/**
 * The programs of the control plane: those of KUBEBUILDER_ASSETS where it is set, the others from the cache, where they
 * are built once from the Go modules that a go.mod pins. They are of the release that NODEMAINT_KUBERNETES names, except
 * etcd, and except those that are asked for.
 */
export async function controlPlaneBinaries(
  signal: AbortSignal,
  { apiServer, release: ofAll }: AskedReleases = {},
): Promise<Binaries> {
  assertDeclared('kubernetes');
  if (apiServer !== undefined) assertDeclared(`api-server-${apiServer.minor}`);
  if (ofAll !== undefined) assertDeclared(`kubernetes-${ofAll.minor}`);
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const found: Partial<Record<Binary, string>> = {};
  const wanted = new Map<string, { readonly release: Release; readonly names: Binary[] }>();
  for (const name of NAMES) {
    const given = path.join(assets ?? '', name);
    const asked = (name === 'kube-apiserver' ? apiServer : undefined) ?? ofAll;
    const own = name === 'etcd' ? undefined : asked;
    if (own === undefined && assets !== undefined && (await isProgram(given))) found[name] = given;
    if (found[name] !== undefined) continue;
    const release = own ?? (name === 'etcd' ? defaultRelease() : wantedRelease());
    const group = wanted.get(release.minor) ?? { release, names: [] };
    wanted.set(release.minor, group);
    group.names.push(name);
  }
  for (const { release, names } of wanted.values()) {
    const directory = await build(release, names, signal);
    for (const name of names) found[name] = path.join(directory, name);
  }
  return found as Binaries;
}
