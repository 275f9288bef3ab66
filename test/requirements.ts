/** What the suites need of the machine, and the packages of Debian and Ubuntu that bring it. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Something that a suite needs. */
export interface Requirement {
  readonly lacks: string;
  /** How a person gets it. */
  readonly how: string;
  /** The packages that bring it; none where a package cannot. */
  readonly packages: readonly string[];
  met(): boolean;
}

/** Where programs are that tests start, also where the PATH of an npm script lacks them. */
const MORE_FOLDERS = ['/usr/sbin', '/sbin', '/usr/local/go/bin'];

function pathOf(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...MORE_FOLDERS];
  return folders
    .map((folder) => path.join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** A program, and the package that brings it. */
export function program(name: string, ...packages: readonly string[]): Requirement {
  return { lacks: name, how: `apt-get install ${packages.join(' ')}`, packages, met: () => pathOf(name) !== undefined };
}

function goVersion(): readonly [number, number] {
  const go = pathOf('go');
  const found =
    go === undefined ? undefined : /go(\d+)\.(\d+)/.exec(execFileSync(go, ['version'], { encoding: 'utf8' }));
  return [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)];
}

/** From 1.21 on, Go fetches the version of itself that a module asks for. */
const GO: Requirement = {
  lacks: 'Go',
  how: 'install Go 1.21 or later; it builds Kubernetes and other programs from their modules',
  packages: ['golang-go', 'ca-certificates'],
  met: () => {
    const [major, minor] = goVersion();
    return major > 1 || (major === 1 && minor >= 21);
  },
};

export const ROOT: Requirement = {
  lacks: 'root',
  how: 'run it as root',
  packages: [],
  met: () => process.getuid?.() === 0,
};

/** Each test file has processes and mounts of its own. A container without privileges cannot have them. */
const NAMESPACES: Requirement = {
  lacks: 'namespaces of mounts and processes',
  how: 'run it on a machine or in a privileged container; in a chroot, first make its folder a mount: mount --bind DIR DIR',
  packages: [],
  met: () => {
    // Another user than root is told about root alone.
    if (!ROOT.met()) return true;
    try {
      execFileSync('unshare', ['--mount', '--pid', '--fork', '--mount-proc', 'true'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  },
};

/** For the suite "integration". */
export const INTEGRATION: readonly Requirement[] = [
  ROOT,
  NAMESPACES,
  GO,
  program('containerd', 'containerd'),
  program('runc', 'runc'),
  program('dbus-daemon', 'dbus'),
  program('systemd-inhibit', 'systemd'),
  program('busybox', 'busybox-static'),
  program('openssl', 'openssl'),
  program('pkill', 'procps'),
  program('ip', 'iproute2'),
  program('unshare', 'util-linux'),
  program('mke2fs', 'e2fsprogs'),
  program('rpm', 'rpm'),
  program('shellcheck', 'shellcheck'),
  program('minisign', 'minisign'),
  program('zsh', 'zsh'),
  program('fish', 'fish'),
];

/** For the suite "e2e". */
export const E2E: readonly Requirement[] = [
  ROOT,
  NAMESPACES,
  GO,
  program('debootstrap', 'debootstrap', 'debian-archive-keyring'),
  program('mke2fs', 'e2fsprogs'),
  program('openssl', 'openssl'),
  program('busybox', 'busybox-static'),
  program('pkill', 'procps'),
  program('ip', 'iproute2'),
  program('unshare', 'util-linux'),
  program('rpm', 'rpm'),
];

/** What the files of "e2e" with a virtual machine require beside it. */
export const VIRTUAL_MACHINE: readonly Requirement[] = [
  program('qemu-system-x86_64', 'qemu-system-x86'),
  program('qemu-img', 'qemu-utils'),
  program('ssh', 'openssh-client'),
  program('nc', 'netcat-openbsd'),
];

/** The packages that are needed and missing, each once; the unmet requirements of which no package helps are not among them. */
export function missingPackages(requirements: readonly Requirement[]): readonly string[] {
  const unmet = requirements.filter((requirement) => !requirement.met());
  return [...new Set(unmet.flatMap(({ packages }) => packages))].sort();
}

/** What the machine lacks, with how to get it, in one line; empty where it lacks nothing. */
export function lacksOf(requirements: readonly Requirement[]): string {
  const unmet = requirements.filter((requirement) => !requirement.met());
  const helped = unmet.filter(({ how }) => how.startsWith('apt-get'));
  const others = unmet.filter((each) => !helped.includes(each)).map(({ lacks, how }) => `${lacks} (${how})`);
  const names = helped.map(({ lacks }) => lacks).join(', ');
  const packages = `apt-get install ${missingPackages(helped).join(' ')}`;
  return [...others, ...(helped.length === 0 ? [] : [`${names} (${packages})`])].join('; ');
}
