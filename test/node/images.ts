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

/**
 * Makes the test image, a busybox and nothing else, in `folder` and returns the path of its archive, which
 * `ctr --namespace k8s.io images import` takes on any machine of this architecture; no registry is asked.
 */
export async function buildTestImage(folder: string): Promise<string> {
  const root = path.join(folder, 'image-root');
  await layOut(root);
  const layer = path.join(folder, 'layer.tar');
  await run('tar', ['--owner=0', '--group=0', '-C', root, '-cf', layer, '.']);
  const digest = createHash('sha256')
    .update(await readFile(layer))
    .digest('hex');
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    // As the sandbox's program it only has to stay; it ends at once on SIGTERM, as the usual pause image does.
    config: {
      Cmd: ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait $!; done'],
      Env: ['PATH=/bin'],
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    history: [{ created_by: 'nodemaint test' }],
  };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [TEST_IMAGE], Layers: ['layer.tar'] }];
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify(manifest));
  const archive = path.join(folder, 'image.tar');
  await run('tar', ['-C', folder, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar']);
  return archive;
}
