/** The workflow that publishes, and the notes of a release, as far as no forge is needed. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { datedChangelog, notesOf } from '../../../.ci/publish.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >;
}

describe('the workflow "release"', async () => {
  const text = await readFile(path.join(ROOT, '.github', 'workflows', 'release.yaml'), 'utf8');
  const steps = Object.values((parse(text) as Workflow).jobs).flatMap((job) => job.steps);
  const commands = steps.map((step) => step.run ?? '').join('\n');

  it('the workflow runs only npm commands that there are, and takes only settings that it names', () => {
    const used = [...commands.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
    assert.deepEqual(used, ['release']);
    for (const name of used) assert.ok(name in packageJson.scripts, name);
    const [head = ''] = text.split(/^name:/m);
    const settings = [...text.matchAll(/\b(?:vars|secrets)\.([A-Z_]+)/g)].map(([, name = '']) => name);
    assert.deepEqual(
      settings.filter((name) => !head.includes(name)),
      [],
    );
  });

  it('the workflow pins its actions by commit, names no registry, and compares before it pushes', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    for (const action of actions) assert.match(action, /^actions\/(?:checkout|setup-node|setup-go)@[0-9a-f]{40}$/);
    assert.doesNotMatch(text, /\b[\w-]+\.(?:io|com|dev|org|net)\b/);
    assert.match(commands, /minisign -V[^]*"\$MADE"[^]*skopeo copy[^]*helm push[^]*--draft=false/);
  });
});

describe('the notes of a release', () => {
  it('the notes of a release are the entry of its version, which is dated once and says first what you must do', async () => {
    const { version } = packageJson;
    const dated = datedChangelog(await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8'), version, '2026-12-01');
    assert.match(dated, /^## \d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/m);
    assert.equal(datedChangelog(dated, version, '2027-01-01'), dated);
    const notes = notesOf(dated, version);
    assert.match(notes, /^### What you must do\n.+/);
    assert.throws(() => notesOf('## 1.0.0\n### Changed\n', '1.0.0'), /does not begin with "### What you must do"/);
  });
});
