/** The .deb and the .rpm, made by nfpm (https://nfpm.goreleaser.com) from its Go module. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import type { Architecture } from './architecture.ts';
import { completions, manualPages } from './manual.ts';
import { nfpmBinary } from './nfpm.ts';
import { nodePayload } from './payload.ts';
import type { TarFile } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
const NAME = 'nodemaint';
const MAINTAINER = 'The authors of node-maintenance-agent <noreply@nodemaint.invalid>';
const HOMEPAGE = 'https://github.com/kubernetes/enhancements/issues/4212';

/** The formats, each with what differs between the distributions that use it. */
const FORMATS = {
  deb: {
    depends: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6', 'dbus', 'systemd'],
    zshDirectory: 'vendor-completions',
    fileName: (architecture: Architecture) => `${NAME}_${packageJson.version}_${architecture}.deb`,
  },
  rpm: {
    depends: ['glibc >= 2.28', 'libgcc', 'libstdc++', 'bash', 'coreutils', 'dbus', 'findutils', 'systemd', 'util-linux'],
    zshDirectory: 'site-functions',
    fileName: (architecture: Architecture) =>
      `${NAME}-${packageJson.version}-1.${architecture === 'amd64' ? 'x86_64' : 'aarch64'}.rpm`,
  },
} as const;

export const PACKAGE_FORMATS = ['deb', 'rpm'] as const;
/** A format of packages. */
type Format = (typeof PACKAGE_FORMATS)[number];

/** What a package is made of beside the sources. */
export interface PackageOptions {
  readonly architecture: Architecture;
  readonly format: Format;
  /** The time of everything in the package, in seconds since the epoch. */
  readonly epochSec: number;
  /** The folder in which the package is to be. */
  readonly target: string;
}

function textFile(name: string, text: string): TarFile {
  return { name, mode: 0o644, data: Buffer.from(text) };
}

function zipped({ name, data, mode }: TarFile): TarFile {
  return { name: `${name}.gz`, mode, data: gzipSync(data ?? '', { level: 9 }) };
}

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ${packageJson.name}

Files: *
Copyright: 2026 The authors of node-maintenance-agent
License: Apache-2.0
 On Debian systems the text of the licence is in /usr/share/common-licenses/Apache-2.0.
Comment: The program contains packages of others, and the package contains Node.js. Their licences are in
 /usr/libexec/nodemaint/dist/THIRD_PARTY_NOTICES and /usr/libexec/nodemaint/NODE_LICENSE.
`;

/** What lintian finds in the program of others that the package contains. */
const LINTIAN_OVERRIDES = `# Node.js is the binary that its project publishes: its hash can be compared with theirs.
${NAME}: unstripped-binary-or-object *usr/libexec/nodemaint/node*
${NAME}: hardening-no-pie *usr/libexec/nodemaint/node*
${NAME}: embedded-library *usr/libexec/nodemaint/node*
# It is run by this Node.js, which the package brings.
${NAME}: script-not-executable *usr/libexec/nodemaint/dist/nodemaint.cjs*
`;

function debianChangelog(epochSec: number): string {
  const date = new Date(epochSec * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `  * The changes of this version are in CHANGELOG.gz.\n\n -- ${MAINTAINER}  ${date}\n`;
  return `${NAME} (${packageJson.version}) stable; urgency=medium\n\n${entry}`;
}

/** The maintainer scripts, as nfpm calls them. rpm does not know a purge. */
function scriptsOf(format: Format): Readonly<Record<string, string>> {
  const scripts = path.join(import.meta.dirname, 'package');
  const both = { postinstall: path.join(scripts, 'postinst'), preremove: path.join(scripts, 'prerm') };
  return format === 'deb' ? { ...both, postremove: path.join(scripts, 'postrm') } : both;
}

/** The changelog in the header of the .rpm, as nfpm reads it. */
function rpmChangelog(epochSec: number): string {
  const changes = [{ note: 'The changes of this version are in CHANGELOG.gz.' }];
  return JSON.stringify([{ semver: `${packageJson.version}-1`, date: new Date(epochSec * 1000).toISOString(), packager: MAINTAINER, changes }]);
}

/** What the header of the .rpm has beside what both formats have. */
async function rpmFields(stage: string, epochSec: number): Promise<object> {
  const changelog = path.join(stage, 'changelog.yaml');
  await writeFile(changelog, rpmChangelog(epochSec));
  const rpm = { buildhost: 'localhost', group: 'System Environment/Daemons', summary: packageJson.description };
  return { release: '1', license: packageJson.license, changelog, rpm };
}

/** What rpm says of a file beside its mode; other formats do not know it. */
function kindOf(name: string): { readonly type?: string } {
  if (/\/(?:LICENSE|NOTICE|NODE_LICENSE|THIRD_PARTY_NOTICES)$/.test(name)) return { type: 'license' };
  return /^usr\/share\/(?:man|doc)\//.test(name) ? { type: 'doc' } : {};
}

/** The files of a package, by their paths without the first slash. */
async function packageFiles({ architecture, format, epochSec }: PackageOptions): Promise<readonly TarFile[]> {
  const below = (folder: string, files: readonly TarFile[]): readonly TarFile[] =>
    files.map((file) => ({ ...file, name: `${folder}/${file.name}` }));
  const documents = [zipped(textFile('CHANGELOG', await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8')))];
  if (format === 'deb') {
    documents.push(textFile('copyright', COPYRIGHT), zipped(textFile('changelog', debianChangelog(epochSec))));
  }
  const overrides = format === 'deb' ? [textFile(`usr/share/lintian/overrides/${NAME}`, LINTIAN_OVERRIDES)] : [];
  const aliases = ['kubectl-nodemaint', 'kubectl_complete-nodemaint'].map((name) =>
    zipped(textFile(`${name}.1`, '.so man1/nodemaint.1\n')),
  );
  return [
    ...overrides,
    ...below('usr/libexec/nodemaint', await nodePayload(architecture)),
    ...below('usr/share/man/man1', [...manualPages().map(zipped), ...aliases]),
    ...below('usr', completions(FORMATS[format].zshDirectory)),
    ...below(`usr/share/doc/${NAME}`, documents),
  ];
}

/** The directories that belong to the package alone; rpm leaves every directory that no package owns. */
function ownDirectories(files: readonly TarFile[]): readonly string[] {
  const own = [`usr/libexec/${NAME}`, `usr/share/doc/${NAME}`];
  const parents = (name: string): readonly string[] => (name === '.' ? [] : [name, ...parents(path.dirname(name))]);
  const all = new Set(files.flatMap(({ name }) => parents(path.dirname(name))));
  return [...all].filter((name) => own.some((each) => `${name}/`.startsWith(`${each}/`))).sort();
}

/** Makes a package; returns its path. The same sources, with the same time, make the same bytes. */
export async function makePackage(options: PackageOptions, signal: AbortSignal): Promise<string> {
  const { architecture, format, epochSec, target } = options;
  const nfpm = await nfpmBinary(signal);
  await mkdir(target, { recursive: true });
  const stage = await mkdtemp(path.join(target, '.package-'));
  try {
    const contents: object[] = [];
    const files = await packageFiles(options);
    for (const name of ownDirectories(files)) {
      contents.push({ dst: `/${name}`, type: 'dir', file_info: { mode: 0o755, owner: 'root', group: 'root' } });
    }
    for (const [at, { name, mode, data }] of files.entries()) {
      const src = path.join(stage, `${at}`);
      await writeFile(src, data ?? '');
      await chmod(src, mode);
      await utimes(src, epochSec, epochSec);
      const kind = format === 'rpm' ? kindOf(name) : {};
      contents.push({ src, dst: `/${name}`, ...kind, file_info: { mode, owner: 'root', group: 'root' } });
    }
    for (const name of ['nodemaint', 'kubectl-nodemaint']) {
      contents.push({ src: '../lib/nodemaint/nodemaint', dst: `/usr/bin/${name}`, type: 'symlink' });
    }
    const config = {
      name: NAME,
      arch: architecture,
      version: packageJson.version,
      maintainer: MAINTAINER,
      description: `${packageJson.description}\nThe agent for a node: it holds a shutdown until the pods have left, in order.`,
      homepage: HOMEPAGE,
      section: 'admin',
      priority: 'optional',
      mtime: new Date(epochSec * 1000).toISOString(),
      depends: FORMATS[format].depends,
      contents,
      scripts: scriptsOf(format),
      ...(format === 'rpm' ? await rpmFields(stage, epochSec) : {}),
    };
    const configFile = path.join(stage, 'nfpm.yaml');
    await writeFile(configFile, JSON.stringify(config));
    const made = path.join(stage, FORMATS[format].fileName(architecture));
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(epochSec) };
    await promisify(execFile)(nfpm, ['package', '--config', configFile, '--packager', format, '--target', made], { signal, env });
    const file = path.join(target, path.basename(made));
    await rename(made, file);
    return file;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}
