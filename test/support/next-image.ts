/** Another version of the image that .ci/image.ts makes, for tests of upgrades. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const run = promisify(execFile);

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function digestOf(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

/**
 * Makes an archive `next.tar` in `folder`: the image of `archive` under the name `name`, with one layer more, in which these
 * files are, by their paths in the image. It has only the blobs that are new, so it is for a machine that has the first one.
 */
export async function nextImage(
  archive: string,
  name: string,
  files: Readonly<Record<string, string>>,
  folder: string,
): Promise<string> {
  const old = await mkdtemp(path.join(folder, 'image-'));
  const next = path.join(old, 'next');
  await run('tar', ['-xf', archive, '-C', old]);
  const blob = async (digest: string): Promise<Record<string, unknown>> =>
    JSON.parse(await readFile(path.join(old, 'blobs', digest.replace(':', '/')), 'utf8')) as Record<string, unknown>;
  await mkdir(path.join(next, 'blobs', 'sha256'), { recursive: true });
  const put = async (mediaType: string, data: Buffer): Promise<Descriptor> => {
    const digest = digestOf(data);
    await writeFile(path.join(next, 'blobs', digest.replace(':', '/')), data);
    return { mediaType, digest, size: data.length };
  };

  for (const [file, text] of Object.entries(files)) {
    const target = path.join(old, 'layer', file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, text, { mode: 0o644 });
  }
  const tar = path.join(old, 'layer.tar');
  await run('tar', ['--owner=0', '--group=0', '-C', path.join(old, 'layer'), '-cf', tar, ...Object.keys(files)]);
  const layer = await readFile(tar);
  const index = JSON.parse(await readFile(path.join(old, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [first] = index.manifests;
  if (first === undefined) throw new Error(`${archive} has no image`);
  const manifest = await blob(first.digest);
  const config = await blob((manifest['config'] as Descriptor).digest);
  const rootfs = config['rootfs'] as { diff_ids: readonly string[] };
  const history = [...(config['history'] as object[]), { created_by: 'a test' }];
  const nextConfig = { ...config, history, rootfs: { ...rootfs, diff_ids: [...rootfs.diff_ids, digestOf(layer)] } };
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const layers = [
    ...(manifest['layers'] as Descriptor[]),
    await put('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer)),
  ];
  const { mediaType } = manifest['config'] as Descriptor;
  const made = await put(
    first.mediaType,
    json({ ...manifest, config: await put(mediaType, json(nextConfig)), layers }),
  );
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  await writeFile(path.join(next, 'index.json'), json({ ...index, manifests: [{ ...first, ...made, annotations }] }));
  await writeFile(path.join(next, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const target = path.join(folder, 'next.tar');
  await run('tar', ['-C', next, '-cf', target, '.']);
  await rm(old, { recursive: true });
  return target;
}
