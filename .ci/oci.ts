/** Container images in the OCI image layout, made without Docker and without a registry. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import type { Architecture } from './architecture.ts';
import type { Source } from './provenance.ts';
import { type TarFile, tarOf } from './tar.ts';

const NAME = `localhost/nodemaint:${packageJson.version}`;
const NOBODY = 65532;

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly data: Buffer;
}

/** An image for one architecture. */
export interface Image {
  readonly architecture: Architecture;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
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

/** The user of the image, for its first layer. */
export const USER_FILES: readonly TarFile[] = [
  { name: 'etc/passwd', mode: 0o644, data: Buffer.from(`nodemaint:x:${NOBODY}:${NOBODY}::/:/sbin/nologin\n`) },
  { name: 'etc/group', mode: 0o644, data: Buffer.from(`nodemaint:x:${NOBODY}:\n`) },
];

/** What is known of the sources; where they are published is said by whoever publishes them. */
export interface ImageSource extends Source {
  readonly url?: string;
}

/** Makes an image of layers, each with a sentence that says what it is. Its time is that of the commit. */
export function imageOf(
  architecture: Architecture,
  layers: readonly (readonly [string, readonly TarFile[]])[],
  { commit, epochSec, url }: ImageSource,
): Image {
  const created = new Date(epochSec * 1000).toISOString();
  const made = layers.map(([what, files]) => ({ what, tar: tarOf(files) }));
  const blobs = made.map(({ tar }) => blobOf('layer.v1.tar+gzip', gzipSync(tar, { level: 6 })));
  const config = jsonBlob('config.v1+json', {
    created,
    architecture,
    os: 'linux',
    config: {
      User: `${NOBODY}:${NOBODY}`,
      Env: ['PATH=/usr/bin', 'NODE_ENV=production'],
      Entrypoint: ['/usr/bin/node', '/usr/lib/nodemaint/dist/nodemaint.cjs'],
      Cmd: ['controller'],
      Labels: {
        'org.opencontainers.image.title': packageJson.name,
        'org.opencontainers.image.version': packageJson.version,
        'org.opencontainers.image.description': packageJson.description,
        'org.opencontainers.image.licenses': packageJson.license,
        'org.opencontainers.image.created': created,
        ...(commit === '' ? {} : { 'org.opencontainers.image.revision': commit }),
        ...(url === undefined ? {} : { 'org.opencontainers.image.source': url }),
      },
    },
    rootfs: { type: 'layers', diff_ids: made.map(({ tar }) => `sha256:${sha256(tar)}`) },
    history: made.map(({ what }) => ({ created, created_by: what })),
  });
  const manifest = jsonBlob('manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf(config),
    layers: blobs.map(descriptorOf),
  });
  return { architecture, manifest, config, layers: blobs };
}

const INDEX = 'application/vnd.oci.image.index.v1+json';

/** The images with what each is for, as an index has them. */
function entriesOf(images: readonly Image[]): readonly object[] {
  return images.map(({ manifest, architecture }) => ({ ...descriptorOf(manifest), platform: { architecture, os: 'linux' } }));
}

function indexOf(images: readonly Image[]): Blob {
  return jsonBlob('index.v1+json', { schemaVersion: 2, mediaType: INDEX, manifests: entriesOf(images) });
}

/** The digest of an image for several architectures, by which a registry gives exactly it: that of its index. */
export function digestOf(images: readonly Image[]): string {
  return indexOf(images).digest;
}

/** An archive of images for several architectures: one index under one name, of which a runtime takes the image it needs. */
export function archiveOf(images: readonly Image[]): Buffer {
  const manifests = entriesOf(images);
  const annotations = { 'io.containerd.image.name': NAME, 'org.opencontainers.image.ref.name': NAME };
  const nested = indexOf(images);
  const isOne = images.length === 1;
  const top = isOne ? manifests.map((entry) => ({ ...entry, annotations })) : [{ ...descriptorOf(nested), annotations }];
  // For Docker before 25, which knows neither the layout nor several architectures.
  const docker = images.map(({ config, layers }) => ({ Config: pathOf(config), RepoTags: [NAME], Layers: layers.map(pathOf) }));
  const json = (name: string, value: unknown): TarFile => ({ name, mode: 0o644, data: Buffer.from(JSON.stringify(value)) });
  const blobs = new Map(
    [...(isOne ? [] : [nested]), ...images.flatMap(({ manifest, config, layers }) => [manifest, config, ...layers])].map((blob) => [pathOf(blob), blob]),
  );
  return tarOf([
    json('oci-layout', { imageLayoutVersion: '1.0.0' }),
    json('index.json', { schemaVersion: 2, mediaType: INDEX, manifests: top }),
    ...(isOne ? [json('manifest.json', docker)] : []),
    ...[...blobs].map(([name, { data }]) => ({ name, mode: 0o644, data })),
  ]);
}

/** What an archive says of itself, for people. */
export function describeImage({ architecture, manifest }: Image): string {
  return `${NAME} for linux/${architecture}, ${manifest.digest}`;
}
