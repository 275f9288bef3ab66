/** The files of a release, as they lie in its archive and, in the packages, below /usr/libexec/nodemaint. */
import { globSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { type Architecture, nodeBinary, nodeFolder } from './architecture.ts';
import { type TarFile, tarOf } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
const CHART = path.join(ROOT, 'manifests', 'chart');
/** The name that the manifests have in place of one in a registry. */
export const PLACEHOLDER = 'localhost/nodemaint';

/** The image that a release names: where it lies, without a tag, and its digest. */
export interface ReleasedImage {
  readonly repository: string;
  readonly digest: string;
}

/** What install.sh needs, and what tells people of their rights. */
const ON_A_NODE = [
  'install.sh',
  'systemd/**/*',
  'dist/*.cjs',
  'dist/THIRD_PARTY_NOTICES',
  'dist/nodemaint.cdx.json',
  'LICENSE',
  'NOTICE',
];
const PROGRAMS = new Set(['install.sh', 'systemd/libexec/lock-holder', 'systemd/libexec/nodemaint']);
/** The chart is a package of its own. The pages are where `runbook_url` of an alert leads. */
const FOR_THE_CLUSTER = ['manifests/**/*.yaml', 'manifests/monitoring/dashboard.json', 'CHANGELOG.md', 'README.md', 'docs/usage/*.md'];
const EXCLUDED = ['manifests/chart/**', 'dist/interceptor.cjs'];

/** The files below a folder, also those below links to folders, by their paths in it. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const found = names.map(async (name) => {
    const file = path.join(folder, name);
    return (await stat(file)).isDirectory() ? (await filesBelow(file)).map((below) => `${name}/${below}`) : [name];
  });
  return (await Promise.all(found)).flat();
}

async function filesOf(patterns: readonly string[]): Promise<readonly TarFile[]> {
  const found = globSync([...patterns], { cwd: ROOT, exclude: EXCLUDED, withFileTypes: true });
  const names = found.filter((entry) => entry.isFile()).map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
  return await Promise.all(
    [...names].sort().map(async (name) => ({
      name,
      mode: PROGRAMS.has(name) ? 0o755 : 0o644,
      data: await readFile(path.join(ROOT, name)),
    })),
  );
}

/** What an installation on a node of this architecture needs. */
export async function nodePayload(architecture: Architecture): Promise<readonly TarFile[]> {
  const folder = await nodeFolder(architecture);
  return [
    ...(await filesOf(ON_A_NODE)),
    { name: 'NODE_LICENSE', mode: 0o644, data: await readFile(path.join(folder, 'LICENSE')) },
    { name: 'node', mode: 0o755, data: await nodeBinary(architecture) },
  ];
}

/** What the archive has beside that; its manifests name the image by its digest. */
export async function clusterPayload(image: ReleasedImage): Promise<readonly TarFile[]> {
  return (await filesOf(FOR_THE_CLUSTER)).map((file) => withImage(file, image));
}

/** A manifest that names the image of the product not only by its tag, which a registry can move to another image. */
function withImage(file: TarFile, { repository, digest }: ReleasedImage): TarFile {
  if (!file.name.endsWith('.yaml') || file.data === undefined) return file;
  const text = String(file.data).replace(/^(\s*(?:- )?image: )localhost\/nodemaint(:[^\s@]+)$/gm, `$1${repository}$2@${digest}`);
  return { ...file, data: Buffer.from(text) };
}

/** The program in a container image, with the licences of what is in it, and what the installer copies to a node. */
export async function programLayer(): Promise<readonly TarFile[]> {
  const files = await filesOf(ON_A_NODE);
  return files.map((file) => ({ ...file, name: `usr/lib/nodemaint/${file.name}` }));
}

/** The values of the chart with the image. */
function valuesWith(values: string, { repository, digest }: ReleasedImage): Buffer {
  const given = repository === PLACEHOLDER ? '""' : repository;
  const text = values.replace('\n  repository: ""\n', `\n  repository: ${given}\n`).replace('\n  digest: ""\n', `\n  digest: "${digest}"\n`);
  if (!text.includes(`repository: ${given}\n`) || !text.includes(`digest: "${digest}"`)) throw new Error('values.yaml of the chart has no image');
  return Buffer.from(text);
}

/**
 * The chart with the manifests in it, without links: an archive that Helm installs, the same whenever it is made. The image of
 * a release is the default of its values.
 */
export async function chartArchive(image: ReleasedImage = { repository: PLACEHOLDER, digest: '' }): Promise<{ readonly name: string; readonly data: Buffer }> {
  const { version } = parse(await readFile(path.join(CHART, 'Chart.yaml'), 'utf8')) as { version: string };
  const files = (await filesBelow(CHART)).filter((name) => !/^\.helmignore$|\.gotmpl$|kustomization\.yaml$/.test(name));
  const read = [...files].sort().map(async (name) => ({
    name: `nodemaint/${name}`,
    mode: 0o644,
    data: name === 'values.yaml' ? valuesWith(await readFile(path.join(CHART, name), 'utf8'), image) : await readFile(path.join(CHART, name)),
  }));
  const license = { name: 'nodemaint/LICENSE', mode: 0o644, data: await readFile(path.join(ROOT, 'LICENSE')) };
  const tar = tarOf([...(await Promise.all(read)), license]);
  return { name: `nodemaint-${version}.tgz`, data: gzipSync(tar, { level: 9 }) };
}
