/**
 * `npm run image`: makes dist/nodemaint-image.tar, a container image for this machine's architecture, without Docker and
 * without a registry: the Node.js that runs this, the libraries it has loaded, and dist/nodemaint.cjs. It is an OCI image
 * layout that `docker load`, `podman load`, `skopeo copy oci-archive:…` and `ctr images import` take.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { type TarFile, tarOf } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
const NAME = `localhost/nodemaint:${packageJson.version}`;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const NOBODY = 65532;
const EPOCH = new Date(0).toISOString();

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly data: Buffer;
}

function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function blobOf(mediaType: string, data: Buffer): Blob {
  return { mediaType: `application/vnd.oci.image.${mediaType}`, digest: `sha256:${sha256(data)}`, size: data.length, data };
}

function jsonBlob(mediaType: string, value: unknown): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(value)));
}

function descriptorOf({ mediaType, digest, size }: Blob): Pick<Blob, 'mediaType' | 'digest' | 'size'> {
  return { mediaType, digest, size };
}

/** Where a blob lies in the layout. */
function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/** The shared libraries of this process, where its dynamic linker looks for them. */
function libraries(): readonly string[] {
  const { sharedObjects } = process.report.getReport() as { sharedObjects: readonly string[] };
  return sharedObjects.filter((file) => file.startsWith('/') && file.includes('.so') && !file.endsWith('.node'));
}

async function fileOf(name: string, source: string, mode: number): Promise<TarFile> {
  return { name: name.replace(/^\//, ''), mode, data: await readFile(source) };
}

const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`no image for ${process.arch}`);

const runtime = tarOf([
  { name: 'etc/passwd', mode: 0o644, data: Buffer.from(`nodemaint:x:${NOBODY}:${NOBODY}::/:/sbin/nologin\n`) },
  { name: 'etc/group', mode: 0o644, data: Buffer.from(`nodemaint:x:${NOBODY}:\n`) },
  await fileOf('usr/bin/node', process.execPath, 0o755),
  ...(await Promise.all([...libraries()].sort().map((file) => fileOf(file, file, 0o755)))),
]);
const program = tarOf([await fileOf('usr/lib/nodemaint/nodemaint.cjs', path.join(ROOT, 'dist', 'nodemaint.cjs'), 0o644)]);
const layers = [runtime, program].map((tar) => ({ tar, blob: blobOf('layer.v1.tar+gzip', gzipSync(tar, { level: 6 })) }));

const config = jsonBlob('config.v1+json', {
  created: EPOCH,
  architecture,
  os: 'linux',
  config: {
    User: `${NOBODY}:${NOBODY}`,
    Env: ['PATH=/usr/bin', 'NODE_ENV=production'],
    Entrypoint: ['/usr/bin/node', '/usr/lib/nodemaint/nodemaint.cjs'],
    Cmd: ['controller'],
    Labels: {
      'org.opencontainers.image.title': packageJson.name,
      'org.opencontainers.image.version': packageJson.version,
      'org.opencontainers.image.description': packageJson.description,
    },
  },
  rootfs: { type: 'layers', diff_ids: layers.map(({ tar }) => `sha256:${sha256(tar)}`) },
  history: [
    { created: EPOCH, created_by: `Node.js ${process.version}` },
    { created: EPOCH, created_by: 'npm run image' },
  ],
});
const blobs = layers.map(({ blob }) => blob);
const manifest = jsonBlob('manifest.v1+json', {
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: descriptorOf(config),
  layers: blobs.map(descriptorOf),
});
const annotations = { 'io.containerd.image.name': NAME, 'org.opencontainers.image.ref.name': NAME };
const index = {
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [{ ...descriptorOf(manifest), platform: { architecture, os: 'linux' }, annotations }],
};
// For Docker before 25, which does not know the layout.
const docker = [{ Config: pathOf(config), RepoTags: [NAME], Layers: blobs.map(pathOf) }];

const json = (name: string, value: unknown): TarFile => ({ name, mode: 0o644, data: Buffer.from(JSON.stringify(value)) });
const archive = tarOf([
  json('oci-layout', { imageLayoutVersion: '1.0.0' }),
  json('index.json', index),
  json('manifest.json', docker),
  ...[manifest, config, ...blobs].map((blob) => ({ name: pathOf(blob), mode: 0o644, data: blob.data })),
]);
const file = path.join(ROOT, 'dist', 'nodemaint-image.tar');
await writeFile(file, archive);
console.log(`${file}: ${NAME} for linux/${architecture}, ${Math.round(archive.length / 1e6)} MB, ${manifest.digest}`);
