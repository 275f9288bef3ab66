/**
 * `npm run image`: makes dist/nodemaint-image.tar, a container image for this machine's architecture, without Docker and
 * without a registry: the Node.js that runs this, the libraries it has loaded, and the bundle of the controller. It is an OCI image
 * layout that `docker load`, `podman load`, `skopeo copy oci-archive:…` and `ctr images import` take. The image of a release
 * has the libraries of Debian instead.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type Architecture, nodeName } from './architecture.ts';
import { archiveOf, describeImage, imageOf, USER_FILES } from './oci.ts';
import { programLayer } from './payload.ts';
import { readPins, requirePinned } from './pins/pins.ts';
import { sourceOf } from './source.ts';
import type { TarFile } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x64: 'amd64', arm64: 'arm64' };

/** The shared libraries of this process, where its dynamic linker looks for them. */
function libraries(): readonly string[] {
  const { sharedObjects } = process.report.getReport() as { sharedObjects: readonly string[] };
  return sharedObjects.filter((file) => file.startsWith('/') && file.includes('.so') && !file.endsWith('.node'));
}

async function fileOf(name: string, source: string): Promise<TarFile & { readonly data: Buffer }> {
  return { name: name.replace(/^\//, ''), mode: 0o755, data: await readFile(source) };
}

const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`no image for ${process.arch}`);

const node = await fileOf('usr/bin/node', process.execPath);
requirePinned(await readPins('node'), nodeName(architecture), node.data);
const runtime = [
  ...USER_FILES,
  node,
  ...(await Promise.all([...libraries()].sort().map((file) => fileOf(file, file)))),
];
const image = imageOf(architecture, [
  [`Node.js ${process.version}`, runtime],
  ['npm run image', await programLayer()],
], await sourceOf());
const archive = archiveOf([image]);
const file = path.join(ROOT, 'dist', 'nodemaint-image.tar');
await writeFile(file, archive);
console.log(`${file}: ${describeImage(image)}, ${Math.round(archive.length / 1e6)} MB`);
