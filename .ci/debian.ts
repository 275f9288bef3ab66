/** The base of the released image: packages of Debian, so that scanners for weaknesses know what is in it. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from './architecture.ts';
import { HOW_TO_ACCEPT, type Pins, readPins, requirePinned, sha256 } from './pins/pins.ts';
import type { BomComponent } from './provenance.ts';
import type { TarFile } from './tar.ts';

const run = promisify(execFile);

/** What Node.js needs, and base-files, which says what distribution it is. */
const PACKAGES = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'];
/** The files of these packages that the image has. */
const KEPT = /^(?:(?:usr\/)?lib(?:64)?\/(?!.*\/(?:gconv|audit)\/).*\.so(?:\.[\d.]+)?$|(?:usr\/lib|etc)\/os-release$|usr\/share\/doc\/[^/]+\/copyright$)/;

/** The base of an image. */
export interface DebianBase {
  readonly files: readonly TarFile[];
  readonly components: readonly BomComponent[];
}

/**
 * Fetches packages with apt, which checks their signatures, of this machine's release of Debian, for an architecture. A
 * package is `NAME=VERSION`, or its name alone for the newest one.
 */
async function download(architecture: Architecture, names: readonly string[], folder: string): Promise<void> {
  const [state, cache, status] = ['state', 'cache', 'status'].map((name) => path.join(folder, '.apt', name)) as [string, string, string];
  for (const place of [path.join(state, 'lists/partial'), path.join(cache, 'archives/partial')]) await mkdir(place, { recursive: true });
  await writeFile(status, '');
  const options = {
    'Dir::State': state,
    'Dir::State::status': status,
    'Dir::Cache': cache,
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const hasLists = (await readdir(path.join(state, 'lists'))).some((name) => name.endsWith('_Packages'));
  if (!hasLists) await run('apt-get', ['-qq', ...flags, 'update']);
  await run('apt-get', ['-qq', ...flags, 'download', ...names], { cwd: folder });
}

async function fieldOf(deb: string, field: string): Promise<string> {
  return (await run('dpkg-deb', ['-f', deb, field])).stdout.trim();
}

/** The files of an unpacked package that the image has. */
async function keptFiles(folder: string): Promise<readonly TarFile[]> {
  const names = globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => ({ name: path.relative(folder, path.join(entry.parentPath, entry.name)), isLink: entry.isSymbolicLink() }))
    .filter(({ name }) => KEPT.test(name));
  return await Promise.all(
    names.map(async ({ name, isLink }): Promise<TarFile> => {
      const file = path.join(folder, name);
      if (isLink) return { name, mode: 0o777, link: await readlink(file) };
      return { name, mode: name.includes('.so') ? 0o755 : 0o644, data: await readFile(file) };
    }),
  );
}

async function componentOf(deb: string, architecture: Architecture): Promise<BomComponent> {
  const [name, version] = [await fieldOf(deb, 'Package'), await fieldOf(deb, 'Version')];
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  const content = sha256(await readFile(deb));
  return { type: 'library', 'bom-ref': purl, name, version, supplier: { name: 'Debian' }, hashes: [{ alg: 'SHA-256', content }], purl };
}

/** Fetches the newest packages that the base is made of into a folder, for new pins; resolves to their hashes. */
export async function newestPackages(architecture: Architecture, folder: string): Promise<Pins> {
  await download(architecture, PACKAGES, folder);
  const libgcc = (await debsIn(folder)).find((name) => name.startsWith('libgcc-s1_')) ?? '';
  // The package with the copyright of both libraries of GCC.
  const gccBase = /gcc-\d+-base/.exec(await fieldOf(path.join(folder, libgcc), 'Depends'))?.[0];
  if (gccBase !== undefined) await download(architecture, [gccBase], folder);
  const names = await debsIn(folder);
  return new Map(await Promise.all(names.map(async (name) => [name, sha256(await readFile(path.join(folder, name)))] as const)));
}

async function debsIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.deb')).sort();
}

/** The pinned packages of an architecture: the names of their files, and what apt is asked for, `NAME=VERSION`. */
export function pinnedPackages(pins: Pins, architecture: Architecture): ReadonlyMap<string, string> {
  const found = [...pins.keys()].map((file) => /^([^_]+)_([^_]+)_([^_]+)\.deb$/.exec(file));
  return new Map(
    found.flatMap((parts) => {
      const [file, name, version = '', of] = parts ?? [];
      return of === architecture && file !== undefined ? [[file, `${name}=${decodeURIComponent(version)}`]] : [];
    }),
  );
}

/** Fetches the pinned packages into a folder. Throws an Error where Debian has no such version any more, or another file. */
async function pinnedDebs(architecture: Architecture, folder: string): Promise<readonly string[]> {
  const pins = await readPins('debian');
  const wanted = pinnedPackages(pins, architecture);
  await download(architecture, [...wanted.values()], folder).catch((error: unknown) => {
    const reason = (error as { readonly stderr?: string }).stderr?.trim() ?? String(error);
    throw new Error(`Debian does not give the packages of .ci/pins/debian.sha256 for ${architecture} (${reason}): ${HOW_TO_ACCEPT}`);
  });
  for (const file of wanted.keys()) requirePinned(pins, file, await readFile(path.join(folder, file)));
  return [...wanted.keys()].sort();
}

/** The base for an architecture: libraries, and the records of their packages as scanners look for them. */
export async function debianBase(architecture: Architecture): Promise<DebianBase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-debian-'));
  try {
    const files: TarFile[] = [];
    const components: BomComponent[] = [];
    for (const name of await pinnedDebs(architecture, folder)) {
      const deb = path.join(folder, name);
      const component = await componentOf(deb, architecture);
      const unpacked = path.join(folder, component.name);
      await run('dpkg-deb', ['-x', deb, unpacked]);
      files.push(...(await keptFiles(unpacked)));
      const control = (await run('dpkg-deb', ['-f', deb])).stdout;
      files.push({ name: `var/lib/dpkg/status.d/${component.name}`, mode: 0o644, data: Buffer.from(control) });
      components.push(component);
    }
    return { files: files.toSorted((a, b) => (a.name < b.name ? -1 : 1)), components };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
