/** The images that kubeadm asks for, made of the built programs: a layer with the program and the C library of this machine. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { packBusybox, packImages, type SmallImage } from '../../node/images.ts';

const run = promisify(execFile);

/** Where kubeadm looks for images. */
export const REPOSITORY = 'nodemaint.test';
/** Those of kubeadm 1.36.3 and 1.37.1. */
const PAUSE = 'pause:3.10.2';

/** A program, and the image of it that kubeadm names. */
export interface Component {
  /** As `kube-apiserver:v1.36.3`. */
  readonly image: string;
  readonly program: string;
}

/** The libraries with which a program is linked, without the first slash. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(?:^\s*|=> )\/(\S+) \(/gm)].map(([, file = '']) => file);
}

async function packComponent(folder: string, { image, program }: Component): Promise<SmallImage> {
  const layer = `${image.replace(':', '-')}.tar`;
  const [name = ''] = image.split(':');
  const place = `--transform=s,^${path.basename(program)}$,usr/local/bin/${name},`;
  const files = ['-C', '/', ...(await librariesOf(program)), '-C', path.dirname(program), path.basename(program)];
  await run('tar', ['--owner=0', '--group=0', '-h', place, '-cf', path.join(folder, layer), ...files]);
  return { name: `${REPOSITORY}/${image}`, layer, config: { Env: ['PATH=/usr/local/bin'] } };
}

/** Makes the archive of all images in `folder` and returns its path. */
export async function packComponents(folder: string, components: readonly Component[]): Promise<string> {
  const images: SmallImage[] = [];
  for (const component of components) images.push(await packComponent(folder, component));
  // kubeadm runs it with -v to see whether the cluster runs pods.
  const script = '[ "$1" = -v ] && exit 0; trap "exit 0" TERM INT; while :; do sleep 86400 & wait $!; done';
  const config = { Entrypoint: ['/bin/sh', '-c', script, 'pause'], Env: ['PATH=/bin'] };
  const pause = { name: `${REPOSITORY}/${PAUSE}`, layer: await packBusybox(folder), config };
  return await packImages(folder, [...images, pause]);
}
