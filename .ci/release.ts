/**
 * `npm run release`: makes everything that a release consists of, in dist/release, for each architecture: the archive, the
 * .deb and the .rpm, the image, the software bill of materials, and SHA256SUMS over all of them. The same commit makes the
 * same bytes. `--node-shasums FILE` and `--node-archives DIR` are what nodejs.org publishes, where it cannot be reached. With
 * `--node-unchecked` its Node.js is compared with the pins alone: such a release is for trials, and "npm run sign" refuses it.
 */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { type Architecture, ARCHITECTURES, nodeBinary, nodeFolder, nodePackage } from './architecture.ts';
import { debianBase } from './debian.ts';
import { completions, manualPages } from './manual.ts';
import { archiveOf, describeImage, digestOf, type Image, imageOf, type ImageSource, USER_FILES } from './oci.ts';
import { makePackage, PACKAGE_FORMATS } from './package.ts';
import { chartArchive, clusterPayload, nodePayload, PLACEHOLDER, programLayer, type ReleasedImage } from './payload.ts';
import { readPins, sha256 } from './pins/pins.ts';
import { compareWithPublished, fetchPublished, UNCHECKED } from './pins/published.ts';
import { pluginArchives } from './plugin.ts';
import { type BomComponent, bomOf } from './provenance.ts';
import { sourceOf } from './source.ts';
import { statementOf } from './statement.ts';
import { tarOf } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
const TARGET = path.join(ROOT, 'dist', 'release');

/**
 * What the release is made from. Everything in it has the time of the commit. SOURCE_URL says where the sources are published,
 * IMAGE_REPOSITORY where the image will be.
 */
const { SOURCE_URL, IMAGE_REPOSITORY = PLACEHOLDER } = process.env;
const source: ImageSource = { ...(await sourceOf()), ...(SOURCE_URL === undefined ? {} : { url: SOURCE_URL }) };

/**
 * Compares the Node.js of the release with the published one: what was downloaded before, or what can be now. Rejects where
 * neither is there, unless that was asked for; then the release has a file that says so, with which nobody can sign it.
 */
async function comparePublishedNode(): Promise<void> {
  const options = {
    'node-shasums': { type: 'string' },
    'node-archives': { type: 'string' },
    'node-unchecked': { type: 'boolean' },
  } as const;
  const { 'node-shasums': sums, 'node-archives': archives, 'node-unchecked': isUnchecked } = parseArgs({ options }).values;
  const pins = await readPins('node');
  for (const architecture of ARCHITECTURES) await nodeBinary(architecture, pins);
  if (isUnchecked === true) {
    await writeFile(path.join(TARGET, UNCHECKED), 'The Node.js of this release was not compared with what nodejs.org publishes.\n');
    return;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-published-'));
  try {
    const given = sums === undefined ? undefined : { sums, archives: archives ?? path.dirname(sums) };
    await compareWithPublished(given ?? (await fetchPublished(folder)), pins);
    console.log('Node.js of both architectures is the one that nodejs.org publishes');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeArchive(architecture: Architecture, released: ReleasedImage): Promise<void> {
  const folder = `nodemaint-${packageJson.version}-linux-${architecture}`;
  const files = [
    ...(await nodePayload(architecture)),
    ...(await clusterPayload(released)),
    ...manualPages().map((page) => ({ ...page, name: `man/${page.name}` })),
    ...completions('site-functions').map((file) => ({ ...file, name: `completions/${path.basename(file.name)}` })),
  ];
  const names = new Set(files.map(({ name }) => name));
  if (names.size !== files.length) throw new Error('two files of the archive have one name');
  const tar = tarOf(files.map((file) => ({ ...file, name: `${folder}/${file.name}` })));
  await writeFile(path.join(TARGET, `${folder}.tar.gz`), gzipSync(tar, { level: 9 }));
}

/** The image for an architecture, and what it has beside the program. */
async function makeImage(architecture: Architecture): Promise<{ image: Image; components: readonly BomComponent[] }> {
  const { files, components } = await debianBase(architecture);
  const folder = await nodeFolder(architecture);
  const node = [
    { name: 'usr/bin/node', mode: 0o755, data: await nodeBinary(architecture) },
    { name: 'usr/share/doc/node/LICENSE', mode: 0o644, data: await readFile(path.join(folder, 'LICENSE')) },
  ];
  const image = imageOf(architecture, [
    ['libraries of Debian', [...USER_FILES, ...files]],
    [`${nodePackage(architecture)} ${packageJson.optionalDependencies[nodePackage(architecture)]}`, node],
    [`${packageJson.name} ${packageJson.version}`, await programLayer()],
  ], source);
  console.log(describeImage(image));
  return { image, components };
}

/** Makes the image for all architectures; resolves to its digest. */
async function makeImages(): Promise<string> {
  const made = [];
  for (const architecture of ARCHITECTURES) made.push(await makeImage(architecture));
  await writeFile(path.join(TARGET, `nodemaint-${packageJson.version}-image.tar`), archiveOf(made.map(({ image }) => image)));
  const bom = JSON.parse(await readFile(path.join(ROOT, 'dist', 'nodemaint.cdx.json'), 'utf8')) as { components: BomComponent[] };
  const components = [...made.flatMap(({ components: others }) => others), ...bom.components];
  await writeFile(path.join(TARGET, `nodemaint-${packageJson.version}-image.cdx.json`), bomOf(components, source));
  return digestOf(made.map(({ image }) => image));
}

/** The plugin of kubectl, and the chart. */
async function makeForClients(released: ReleasedImage): Promise<void> {
  const archives = await pluginArchives();
  for (const { name, data } of [...archives, await chartArchive(released)]) await writeFile(path.join(TARGET, name), data);
}

/** Says from what each file of the release was made, and how. */
async function writeStatement(): Promise<void> {
  const subjects = (await readdir(TARGET)).sort().map(async (name) => ({ name, sha256: sha256(await readFile(path.join(TARGET, name))) }));
  const pins = { node: [...(await readPins('node'))], debian: [...(await readPins('debian'))] };
  const name = `nodemaint-${packageJson.version}.intoto.json`;
  await writeFile(path.join(TARGET, name), statementOf(await Promise.all(subjects), pins, source));
}

async function writeChecksums(): Promise<void> {
  const names = (await readdir(TARGET)).sort();
  const lines = names.map(async (name) => {
    const data = await readFile(path.join(TARGET, name));
    console.log(`${(data.length / 1e6).toFixed(1).padStart(7)} MB  ${name}`);
    return `${sha256(data)}  ${name}\n`;
  });
  await writeFile(path.join(TARGET, 'SHA256SUMS'), (await Promise.all(lines)).join(''));
}

const { signal } = new AbortController();
const { epochSec } = source;
await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
await comparePublishedNode();
// What the others name by its digest.
const released = { repository: IMAGE_REPOSITORY, digest: await makeImages() };
for (const architecture of ARCHITECTURES) {
  await makeArchive(architecture, released);
  for (const format of PACKAGE_FORMATS) await makePackage({ architecture, format, epochSec, target: TARGET }, signal);
}
await makeForClients(released);
await copyFile(path.join(ROOT, 'dist', 'nodemaint.cdx.json'), path.join(TARGET, `nodemaint-${packageJson.version}.cdx.json`));
await writeStatement();
await writeChecksums();
