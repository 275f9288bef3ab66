import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The name of the image that the tests use, for pods and as the sandbox's. */
export const TEST_IMAGE = 'nodemaint.test/busybox:1';

const BUSYBOX = '/bin/busybox';

async function isStatic(program: string): Promise<boolean> {
  // ldd fails on a program that needs no libraries.
  return await run('ldd', [program]).then(
    () => false,
    () => true,
  );
}

/** Lays out the image's only layer: busybox and a link for each of its applets. */
async function layOut(root: string): Promise<void> {
  if (!(await isStatic(BUSYBOX))) throw new Error(`${BUSYBOX} needs libraries: apt-get install busybox-static`);
  await mkdir(path.join(root, 'bin'), { recursive: true });
  await mkdir(path.join(root, 'tmp'));
  await copyFile(BUSYBOX, path.join(root, 'bin', 'busybox'));
  const { stdout } = await run(BUSYBOX, ['--list']);
  for (const applet of stdout.split('\n').filter((name) => name !== '' && name !== 'busybox')) {
    await symlink('busybox', path.join(root, 'bin', applet));
  }
}

/** An image of one layer. */
export interface SmallImage {
  /** As `nodemaint.test/busybox:1`. */
  readonly name: string;
  /** The archive of its layer, in the folder in which the archive of the images is made. */
  readonly layer: string;
  /** What it runs, as in the configuration of OCI images. */
  readonly config: object;
}

/**
 * Makes an archive of images in `folder` and returns its path. `ctr --namespace k8s.io images import` takes it on any machine
 * of this architecture; no registry is asked.
 */
export async function packImages(folder: string, images: readonly SmallImage[]): Promise<string> {
  const manifest: object[] = [];
  for (const [index, { name, layer, config }] of images.entries()) {
    const digest = createHash('sha256')
      .update(await readFile(path.join(folder, layer)))
      .digest('hex');
    const whole = {
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
      history: [{ created_by: 'nodemaint test' }],
    };
    const file = `config-${index}.json`;
    await writeFile(path.join(folder, file), JSON.stringify(whole));
    manifest.push({ Config: file, RepoTags: [name], Layers: [layer] });
  }
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify(manifest));
  const archive = path.join(folder, 'image.tar');
  const layers = [...new Set(images.map(({ layer }) => layer))];
  const configs = images.map((_, index) => `config-${index}.json`);
  await run('tar', ['-C', folder, '-cf', archive, 'manifest.json', ...configs, ...layers]);
  return archive;
}

/** Makes the layer of the test image, a busybox and nothing else, in `folder` and returns the name of its archive. */
export async function packBusybox(folder: string): Promise<string> {
  const root = path.join(folder, 'image-root');
  await layOut(root);
  const layer = 'layer.tar';
  await run('tar', ['--owner=0', '--group=0', '-C', root, '-cf', path.join(folder, layer), '.']);
  return layer;
}

/** Makes the archive of the test image in `folder` and returns its path. */
export async function buildTestImage(folder: string): Promise<string> {
  const config = {
    // As the sandbox's program it only has to stay; it ends at once on SIGTERM, as the usual pause image does.
    Cmd: ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait $!; done'],
    Env: ['PATH=/bin'],
  };
  return await packImages(folder, [{ name: TEST_IMAGE, layer: await packBusybox(folder), config }]);
}
