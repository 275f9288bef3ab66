/** Releases of Debian as folders, made by debootstrap. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { cacheFolder } from '../support/go-program.ts';

const run = promisify(execFile);

export const SUITES = { '12': 'bookworm', '13': 'trixie', unstable: 'sid' } as const;

/** A release of Debian, by its number; unstable has none. */
export type Debian = keyof typeof SUITES;

/** What mounts in here, such as debootstrap, leaves no mount and no process behind, however it ends. */
const CONTAINED = ['--mount', '--pid', '--fork', '--kill-child', '--'] as const;

/** The mirror that this machine's own apt uses; it has all releases. */
export async function findMirror(): Promise<string> {
  const suite = SUITES['12'];
  const format = ['--format', '$(REPO_URI) $(CODENAME) $(COMPONENT)', 'Created-By: Packages'];
  const { stdout } = await run('apt-get', ['indextargets', ...format]);
  const line = stdout.split('\n').find((text) => text.endsWith(` ${suite} main`));
  if (line === undefined) throw new Error(`apt on this machine has no source for ${suite} main; run apt-get update`);
  return line.split(' ')[0] ?? '';
}

/** Runs a command whose mounts and processes end with it; rejects with what it printed if it fails. */
export async function runContained(command: readonly string[], signal: AbortSignal): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('unshare', [...CONTAINED, ...command], { signal, maxBuffer: 64 * 1024 * 1024, env });
}

/** What every system has: systemd, a bus, a runtime for pods, and no kernel. */
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'dbus',
  // Installed, but not the bus: a test may enable it.
  'dbus-broker',
  'udev',
  'libpam-systemd',
  'iproute2',
  'openssl',
  'procps',
  'kmod',
  'mount',
  'util-linux',
  'containerd',
  'runc',
];

/** Files of every system that differ from what the packages bring. */
const FILES: Readonly<Record<string, string>> = {
  'etc/hostname': 'node-a\n',
  'etc/hosts': '127.0.0.1 localhost node-a\n',
  'etc/machine-id': '',
  'etc/systemd/journald.conf.d/test.conf': '[Journal]\nStorage=persistent\nSyncIntervalSec=1s\nForwardToConsole=no\n',
};

/** What a system has beside what all have. */
export interface System {
  readonly packages?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

/** Makes a system of a release in a new folder, and configures it. */
export async function makeSystem(
  debian: Debian,
  root: string,
  { packages = [], files = {} }: System,
  signal: AbortSignal,
): Promise<void> {
  const flags = ['--variant=minbase', `--include=${[...PACKAGES, ...packages].join(',')}`];
  await runContained(['debootstrap', ...flags, SUITES[debian], root, await findMirror()], signal);
  for (const [name, content] of Object.entries({ ...FILES, ...files })) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await mkdir(path.join(root, 'var', 'log', 'journal'), { recursive: true });
  const systemctl = ['chroot', root, 'systemctl'];
  await runContained([...systemctl, 'disable', 'dbus-broker'], signal);
  await runContained([...systemctl, 'mask', 'apt-daily.timer', 'apt-daily-upgrade.timer'], signal);
  await rm(path.join(root, 'var', 'cache', 'apt'), { recursive: true, force: true });
}

/** The folder of this name that `make` fills, made once for each release and for each text of this file and of `recipe`. */
export async function madeOnce(
  name: string,
  debian: Debian,
  recipe: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const texts = await Promise.all([import.meta.filename, recipe].map((file) => readFile(file)));
  const hash = createHash('sha256').update(Buffer.concat(texts)).digest('hex').slice(0, 16);
  const target = cacheFolder(path.join(name, `${hash}-debian-${debian}`));
  if (existsSync(target)) return target;
  await mkdir(path.dirname(target), { recursive: true });
  const folder = await mkdtemp(`${target}.`);
  try {
    await make(folder);
    await rename(folder, target);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    // Another process may have made it meanwhile.
    if (!existsSync(target)) throw error;
  }
  return target;
}
