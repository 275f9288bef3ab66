import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { type Debian, madeOnce, makeSystem, runContained, SUITES } from '../../systemd/debian.ts';

const run = promisify(execFile);

/** A Debian machine that can be booted: a disk, a kernel and its initial file system, and a key to get in. */
export interface MachineImage {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly sshKey: string;
}

/** The kernel 6.12 of Debian 13 panics at random in software: all boot Debian 12's. */
const KERNEL = 'linux-image-cloud-amd64';
const PACKAGES = ['openssh-server', 'initramfs-tools', 'linux-base', 'kexec-tools'];
const MODULES = ['virtio_pci', 'virtio_blk', 'virtio_net', 'ext4', 'overlay'];

/** Files of the machine beside those that every system has. */
const FILES: Readonly<Record<string, string>> = {
  'etc/fstab': '/dev/vda / ext4 errors=remount-ro 0 1\n',
  'etc/systemd/network/10-eth0.network':
    '[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nIPv6AcceptRA=no\nLinkLocalAddressing=no\n',
  'etc/ssh/sshd_config.d/test.conf': 'PermitRootLogin prohibit-password\nUseDNS no\nUsePAM no\n',
  'etc/initramfs-tools/conf.d/modules': 'MODULES=list\n',
  'etc/initramfs-tools/modules': `${MODULES.join('\n')}\n`,
  'etc/modules-load.d/test.conf': 'overlay\n',
};

/** The name of the package with the kernel itself. */
async function kernelPackage(signal: AbortSignal): Promise<string> {
  const { stdout } = await run('apt-cache', ['depends', '--important', KERNEL], { signal });
  const name = /^ *Depends: (linux-image-\S+)$/m.exec(stdout)?.[1];
  if (name === undefined) throw new Error(`apt on this machine does not know ${KERNEL}; run apt-get update`);
  return name;
}

/** Installs packages into the root from this machine's own apt, so those of its release. */
async function installFromHost(root: string, names: readonly string[], signal: AbortSignal): Promise<void> {
  const folder = path.join(root, 'packages');
  await mkdir(folder);
  await run('apt-get', ['download', '-qq', ...names], { cwd: folder, signal });
  const files = (await readdir(folder)).map((file) => `/packages/${file}`);
  await runContained(['chroot', root, 'dpkg', '--install', ...files], signal);
  await rm(folder, { recursive: true });
}

async function configure(root: string, folder: string, signal: AbortSignal): Promise<void> {
  const key = path.join(folder, 'ssh-key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  await mkdir(path.join(root, 'root', '.ssh'), { recursive: true, mode: 0o700 });
  await copyFile(`${key}.pub`, path.join(root, 'root', '.ssh', 'authorized_keys'));
  const chroot = async (...command: string[]): Promise<void> => {
    await runContained(['chroot', root, ...command], signal);
  };
  await installFromHost(root, [await kernelPackage(signal)], signal);
  await chroot('systemctl', 'enable', 'systemd-networkd', 'ssh');
  await chroot('systemctl', 'mask', 'systemd-networkd-wait-online.service');
  await chroot('update-initramfs', '-u');
}

/** Builds the image into the folder. */
async function build(debian: Debian, folder: string, signal: AbortSignal): Promise<void> {
  const startedAt = Date.now();
  process.stderr.write(`building a Debian ${debian} machine into ${folder}; about two minutes, once\n`);
  const root = path.join(folder, 'root');
  await makeSystem(debian, root, { packages: PACKAGES, files: FILES }, signal);
  await configure(root, folder, signal);
  const boot = await readdir(path.join(root, 'boot'));
  for (const [name, prefix] of [
    ['vmlinuz', 'vmlinuz-'],
    ['initrd', 'initrd.img-'],
  ] as const) {
    const file = boot.find((entry) => entry.startsWith(prefix));
    if (file === undefined) throw new Error(`the machine has no /boot/${prefix}*`);
    await copyFile(path.join(root, 'boot', file), path.join(folder, name));
  }
  await run('mke2fs', ['-q', '-t', 'ext4', '-d', root, path.join(folder, 'disk.raw'), '8G'], { signal });
  await rm(root, { recursive: true, force: true });
  process.stderr.write(`built it in ${Math.round((Date.now() - startedAt) / 1_000)} s\n`);
}

/** The release that NODEMAINT_E2E_DEBIAN names; 12 unless told. */
export function chosenDebian(): Debian {
  const told = process.env['NODEMAINT_E2E_DEBIAN'] ?? '12';
  const found = (Object.keys(SUITES) as Debian[]).find((debian) => debian === told);
  if (found !== undefined) return found;
  throw new Error(`NODEMAINT_E2E_DEBIAN is "${told}"; it can be ${Object.keys(SUITES).join(', ')}`);
}

/** The image of the test machine of the chosen release, built once and kept by its recipe. */
export async function machineImage(signal: AbortSignal): Promise<MachineImage> {
  const debian = chosenDebian();
  const target = await madeOnce('machine', debian, import.meta.filename, (folder) => build(debian, folder, signal));
  return {
    disk: path.join(target, 'disk.raw'),
    kernel: path.join(target, 'vmlinuz'),
    initrd: path.join(target, 'initrd'),
    sshKey: path.join(target, 'ssh-key'),
  };
}
