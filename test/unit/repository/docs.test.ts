import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAgentConfig } from '../../../src/config/load.ts';
import { configurationTable } from '../../support/docs.ts';
import { brokenLinks, linkedFiles } from '../../support/markdown.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const DOCS = path.join(ROOT, 'docs');

/** The pages of the repository for people, as absolute paths. */
function pages(): readonly string[] {
  const names = globSync(['*.md', 'docs/**/*.md', 'test/**/README.md'], { cwd: ROOT });
  return names.map((name) => path.join(ROOT, name)).toSorted();
}

describe('the documentation', () => {
  it('the documentation has the table of the configuration as the schema has it', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    assert.ok(
      text.includes(configurationTable()),
      `docs/reference/configuration.md is stale; its table is:\n${configurationTable()}`,
    );
  });

  it('the documentation has an example configuration that is valid', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    const example = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    assert.equal(parseAgentConfig(example, 'the example').onBoot, 'wait');
  });

  it('the documentation explains every error code', async () => {
    const registry = await readFile(path.join(DOCS, '..', 'src', 'errors.ts'), 'utf8');
    const codes = [...registry.matchAll(/\| '([A-Z_]+)'/g)].map(([, code]) => code ?? '');
    assert.ok(codes.length > 10);
    const text = await readFile(path.join(DOCS, 'reference', 'errors.md'), 'utf8');
    assert.deepEqual(
      codes.filter((code) => !text.includes(`\`${code}\``)),
      [],
    );
  });

  it('the documentation has links that lead somewhere, anchors included', async () => {
    const found = pages();
    assert.ok(found.length > 30);
    assert.deepEqual((await Promise.all(found.map(brokenLinks))).flat(), []);
  });

  it('the documentation has every page in its index', async () => {
    const indexed = await linkedFiles(path.join(DOCS, 'README.md'));
    const found = pages().filter((page) => page.startsWith(DOCS) && page !== path.join(DOCS, 'README.md'));
    assert.ok(found.length > 25);
    assert.deepEqual(
      found.filter((page) => !indexed.has(page)),
      [],
    );
  });

  it('the documentation is named in sources and manifests by paths that exist', async () => {
    const there = new Set(pages());
    const sources = ['{src,test,manifests,systemd}/**/*', 'install.sh', '.ci/*'];
    const files = globSync(sources, { cwd: ROOT, withFileTypes: true });
    const missing: string[] = [];
    for (const file of files.filter((each) => each.isFile())) {
      const text = await readFile(path.join(file.parentPath, file.name), 'utf8');
      for (const [page] of text.matchAll(/(?<![\w/:.-])docs\/[\w/-]+\.md/g)) {
        if (!there.has(path.join(ROOT, page))) missing.push(`${file.name}: ${page}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  it('the documentation quotes only titles of tests that exist', async () => {
    const files = globSync('test/**/*.test.ts', { cwd: ROOT });
    const sources = await Promise.all(files.map((file) => readFile(path.join(ROOT, file), 'utf8')));
    const tests = sources.join('\n').replaceAll("\\'", "'");
    const rules = ['eviction-request-rules.md', 'node-maintenance.md'].map((name) =>
      path.join(DOCS, 'reference', name),
    );
    const cells = (await Promise.all(rules.map((page) => readFile(page, 'utf8')))).flatMap((text) =>
      text.split('\n').flatMap((line) => (line.startsWith('|') ? line.split('|').slice(-2, -1) : [])),
    );
    const titles = cells.flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title));
    assert.ok(titles.length > 40);
    assert.deepEqual(
      titles.filter((title) => !tests.includes(title)),
      [],
    );
  });

  it('the documentation names only files of the source that exist', async () => {
    const missing: string[] = [];
    for (const page of pages()) {
      const text = await readFile(page, 'utf8');
      for (const [found] of text.matchAll(/(?<![\w/.-])(?:src|test|manifests)\/[\w/.-]*\w/g)) {
        // A name in capitals stands for any name.
        if (/\b[A-Z]+\b/.test(found) || existsSync(path.join(ROOT, found))) continue;
        missing.push(`${page}: ${found}`);
      }
    }
    assert.deepEqual(missing, []);
  });
});
