/** The packages for both architectures, as far as this machine can look at them: unpacked, read, and the .rpm verified by rpm. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Architecture, ARCHITECTURES } from '../../../.ci/architecture.ts';
import { makePackage, PACKAGE_FORMATS } from '../../../.ci/package.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { makeTestFolder } from '../../support/folder.ts';

/** How each format names an architecture, and the number that an ELF file has for it. */
const NAMES = {
  amd64: { deb: 'amd64', rpm: 'x86_64', machine: 0x3e },
  arm64: { deb: 'arm64', rpm: 'aarch64', machine: 0xb7 },
} as const;

/**
 * What each finds is accepted only with a reason: whoever publishes a release signs it; nfpm does not read programs, so it
 * neither writes into the .rpm which of its files are programs, nor finds the libraries that they need.
 */
const LINTERS = [
  ['lintian', 'deb', []],
  ['rpmlint', 'rpm', ['explicit-lib-dependency', 'no-binary', 'no-signature']],
] as const;

async function run(program: string, ...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** The machine of an ELF file; undefined for another file. */
async function machineOf(file: string): Promise<number | undefined> {
  await using handle = await open(file);
  const head = Buffer.alloc(20);
  await handle.read(head, 0, head.length, 0);
  return head.subarray(0, 4).toString('latin1') === '\x7fELF' ? head.readUInt16LE(18) : undefined;
}

describe('the packages', () => {
  let folder: string;
  const files = new Map<string, string>();
  const fileOf = (format: string, architecture: Architecture): string => files.get(`${format} ${architecture}`) ?? '';
  before(async () => {
    folder = await makeTestFolder('packages');
    const { signal } = new AbortController();
    for (const format of PACKAGE_FORMATS) {
      for (const architecture of ARCHITECTURES) {
        const options = { architecture, format, epochSec: 1_700_000_000, target: folder };
        files.set(`${format} ${architecture}`, await makePackage(options, signal));
      }
    }
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** Installs a package into a root of its own, where its scripts do not run; resolves to that root. */
  const install = async (format: 'deb' | 'rpm', architecture: Architecture): Promise<string> => {
    const root = path.join(folder, `${format}-${architecture}`);
    if (format === 'deb') await run('dpkg-deb', '-x', fileOf(format, architecture), root);
    else {
      const flags = ['--nodeps', '--noscripts', '--ignorearch', '--nosignature', '-i'];
      await run('rpm', '--root', root, ...flags, fileOf(format, architecture));
    }
    return root;
  };

  for (const format of PACKAGE_FORMATS) {
    for (const architecture of ARCHITECTURES) {
      it(`the packages have programs of their architecture only: .${format}, ${architecture}`, async () => {
        const root = await install(format, architecture);
        const all = (await run('find', path.join(root, 'usr'), '-type', 'f', '-print0')).split('\0').filter(Boolean);
        const elf = new Map<string, number>();
        for (const file of all) {
          const machine = await machineOf(file);
          if (machine !== undefined && !file.includes('/rpm/')) elf.set(path.relative(root, file), machine);
        }
        assert.deepEqual([...elf], [['usr/libexec/nodemaint/node', NAMES[architecture].machine]]);
      });
    }
  }

  it('the packages have the same files for each architecture and in each format, but for what a format asks for', async () => {
    const listOf = async (format: 'deb' | 'rpm', architecture: Architecture): Promise<readonly string[]> => {
      const file = fileOf(format, architecture);
      const ofRpm = `rpm -qp --nosignature --queryformat '[%{FILEMODES:perms} %{FILENAMES}\\n]' "$0" | sed -n 's/^[^d][^ ]* //p'`;
      const script = format === 'deb' ? 'dpkg-deb --fsys-tarfile "$0" | tar -t' : ofRpm;
      const lines = (await run('sh', '-c', script, file)).trim().split('\n');
      return lines
        .filter((line) => !line.endsWith('/'))
        .map((line) => line.replace(/^\.?\//, ''))
        .sort();
    };
    for (const format of PACKAGE_FORMATS) {
      assert.deepEqual(await listOf(format, 'arm64'), await listOf(format, 'amd64'), format);
    }
    const ofDebian = /share\/lintian\/|nodemaint\/(?:copyright|changelog\.gz)$|zsh\//;
    const [deb, rpm] = [await listOf('deb', 'arm64'), await listOf('rpm', 'arm64')].map((names) =>
      names.filter((name) => !ofDebian.test(name)),
    );
    assert.deepEqual(rpm, deb);
  });

  it('the packages name their version, architecture, licence and what they need', async () => {
    for (const architecture of ARCHITECTURES) {
      const fields = await run('dpkg-deb', '-f', fileOf('deb', architecture), 'Version', 'Architecture', 'Depends');
      const { deb, rpm } = NAMES[architecture];
      assert.match(
        fields,
        new RegExp(`^Version: ${packageJson.version}\nArchitecture: ${deb}\nDepends: libc6 .*systemd`),
      );
      const tags = '%{VERSION}-%{RELEASE} %{ARCH} %{LICENSE}\n[%{REQUIRES} ]';
      const head = await run('rpm', '-qp', '--nosignature', '--queryformat', tags, fileOf('rpm', architecture));
      assert.match(head, new RegExp(`^${packageJson.version}-1 ${rpm} Apache-2\\.0\n`));
      for (const needed of ['glibc', 'systemd', 'dbus', 'bash']) assert.ok(head.includes(needed), needed);
    }
  });

  it('the packages for rpm are verified by rpm where they are installed, and run install.sh by their scripts', async () => {
    for (const architecture of ARCHITECTURES) {
      const root = path.join(folder, `rpm-${architecture}`);
      // It fails, and names the file, where one is missing or has another size, hash, mode or owner.
      assert.equal(await run('rpm', '--root', root, '-V', '--nodeps', '--noscripts', 'nodemaint'), '');
      const scripts = await run('rpm', '-qp', '--nosignature', '--scripts', fileOf('rpm', architecture));
      assert.match(scripts, /^postinstall scriptlet[^]*install\.sh install --package/m);
      assert.match(scripts, /^preuninstall scriptlet[^]*install\.sh uninstall --package/m);
    }
  });

  for (const [linter, format, accepted] of LINTERS) {
    const found = spawnSync(linter, ['--version']).error === undefined;
    const skip = found ? false : `apt-get install ${linter}`;
    it(`the packages have no error that ${linter} finds, but for those that are accepted`, { skip }, async () => {
      for (const architecture of ARCHITECTURES) {
        // Both say by their exit code too that they have found something.
        const { stdout } = spawnSync(linter, [fileOf(format, architecture)], { encoding: 'utf8' });
        const errors = [...stdout.matchAll(/\bE: (?:nodemaint: )?([\w-]+)/g)].map(([, name]) => name);
        assert.deepEqual(new Set(errors), new Set(accepted), stdout);
      }
    });
  }
});
