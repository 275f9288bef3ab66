/** Root folders of Debian releases for containers with a systemd, a runtime and no kernel. */
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { assertDeclared } from '../needs/declared.ts';
import { cacheFolder } from '../support/go-program.ts';
import { type Debian, installDebian, runContained } from './debian.ts';

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
const FILES: Readonly<Record<string, string>> = {
  'etc/hostname': 'node-a\n',
  'etc/hosts': '127.0.0.1 localhost node-a\n',
  'etc/machine-id': '',
  'etc/systemd/journald.conf.d/test.conf': '[Journal]\nStorage=persistent\nSyncIntervalSec=1s\nForwardToConsole=no\n',
};

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

async function configure(root: string, signal: AbortSignal): Promise<void> {
  for (const [name, content] of Object.entries(FILES)) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await mkdir(path.join(root, 'var', 'log', 'journal'), { recursive: true });
  const systemctl = async (...words: string[]): Promise<void> => {
    await runContained(['chroot', root, 'systemctl', ...words], signal);
  };
  await systemctl('disable', 'dbus-broker');
  await systemctl('mask', 'apt-daily.timer', 'apt-daily-upgrade.timer');
  await rm(path.join(root, 'var', 'cache', 'apt'), { recursive: true, force: true });
}

/** The root folder of the system of a release; made once and kept by its recipe. */
export async function systemRoot(debian: Debian, signal: AbortSignal): Promise<string> {
  assertDeclared(`root-${debian}`);
  const recipe = createHash('sha256').update(await readFile(import.meta.filename));
  const root = cacheFolder(path.join('roots', `${recipe.digest('hex').slice(0, 16)}-debian-${debian}`));
  if (await exists(root)) return root;
  await mkdir(path.dirname(root), { recursive: true });
  const temporary = await mkdtemp(`${root}.`);
  try {
    await installDebian(debian, temporary, PACKAGES, signal);
    await configure(temporary, signal);
    // A folder of mkdtemp is for its owner alone.
    await runContained(['chmod', '0755', temporary], signal);
    await rename(temporary, root);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another process may have made it meanwhile.
    if (!(await exists(root))) throw error;
  }
  return root;
}
