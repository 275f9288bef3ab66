import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { commandTables, configurationTable } from '../../support/docs.ts';
import { brokenLinks, linkedFiles } from '../../support/markdown.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';
import { importsOfPackages } from '../../structure/imports.ts';
import { countLines } from '../../structure/source.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const DOCS = path.join(ROOT, 'docs');

/** The pages of the repository for people, as absolute paths. */
function pages(): readonly string[] {
  const names = globSync(['*.md', 'docs/**/*.md', '{test,examples}/**/README.md'], { cwd: ROOT });
  return names.map((name) => path.join(ROOT, name)).toSorted();
}

/** What a new maintainer reads in an afternoon. */
const MOST_CODE_LINES = 2_500;
/** Dependencies without effects, which are imported where something is described or printed. */
const IMPORTED_ANYWHERE = ['zod', 'yaml', 'commander', 'prom-client'];

describe('the pages for developers', () => {
  it('the reading path names files that exist, each once, and has no more lines of code than an afternoon', async () => {
    const text = await readFile(path.join(DOCS, 'internals', 'architecture.md'), 'utf8');
    const stops = [...text.matchAll(/^\| (\d+) \| \[(src\/[^\]]+)\]\(\.\.\/\.\.\/([^)]+)\) \| [A-Z].*\? \|$/gm)];
    const files = stops.map(([, , name = '']) => name);
    assert.ok(files.length > 20);
    const found = stops.map(([, number, name, target]) => [Number(number), name === target]);
    assert.deepEqual(
      found,
      files.map((_, index) => [index + 1, true]),
    );
    assert.equal(new Set(files).size, files.length);
    const texts = await Promise.all(files.map((file) => readFile(path.join(ROOT, file), 'utf8')));
    const lines = texts.reduce((sum, each) => sum + countLines(each).code, 0);
    assert.ok(lines <= MOST_CODE_LINES, `${lines} lines of code`);
  });

  it('the map of the rules names paths that exist', async () => {
    const text = await readFile(path.join(DOCS, 'internals', 'development.md'), 'utf8');
    const map = /## Find your way\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
    const paths = [...map.matchAll(/^\| .* \| (.*) \|$/gm)].flatMap(([, places = '']) =>
      [...places.matchAll(/`((?:src|manifests)\/[^`]+)`/g)].map(([, place = '']) => place),
    );
    assert.ok(paths.length > 30);
    const found = paths.filter((place) => !existsSync(path.join(ROOT, place)));
    assert.deepEqual(found, []);
  });

  it('the source imports each dependency that has effects in one file', async () => {
    const { dependencies } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const sources = globSync('src/**/*.ts', { cwd: ROOT });
    const imports = await importsOfPackages(ROOT, sources);
    for (const name of Object.keys(dependencies).filter((each) => !IMPORTED_ANYWHERE.includes(each))) {
      const importers = imports.filter((each) => each.name === name).map(({ from }) => from);
      assert.ok(importers.length > 0, `${name} is not imported`);
      assert.deepEqual(importers.toSorted(), importers.slice(0, 1), name);
    }
  });
});

describe('the documentation', () => {
  it('the documentation has the table of the configuration as the schema has it', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    assert.ok(
      text.includes(configurationTable()),
      `docs/reference/configuration.md is stale; its table is:\n${configurationTable()}`,
    );
  });

  it('the documentation has the tables of commands and of the options of the controller as the command line has them', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'commands.md'), 'utf8');
    const { terminal } = recordTerminal('pipe');
    for (const table of commandTables(createProgram(terminal, () => undefined))) {
      assert.ok(text.includes(table), `docs/reference/commands.md is stale; its table is:\n${table}`);
    }
  });

  it('the documentation has an example configuration that is valid', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    const example = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    assert.equal(parseAgentConfig(example, 'the example').onBoot, 'wait');
  });

  it('the documentation has links that lead somewhere, anchors included', async () => {
    const found = pages();
    assert.ok(found.length > 30);
    assert.deepEqual((await Promise.all(found.map(brokenLinks))).flat(), []);
  });

  it('the documentation for users has few words, and leads to no decision', async () => {
    const texts = await Promise.all(globSync(path.join(DOCS, 'usage', '*.md')).map((page) => readFile(page, 'utf8')));
    assert.ok(texts.join('\n').split(/\s+/).length <= 15_000);
    assert.doesNotMatch(texts.join('\n'), /\/adr\//);
  });

  it('the documentation has every page in its index', async () => {
    const indexed = await linkedFiles(path.join(DOCS, 'README.md'));
    const found = pages().filter((page) => page.startsWith(DOCS) && page !== path.join(DOCS, 'README.md'));
    assert.ok(found.length > 25);
    const shown = found.filter((page) => !indexed.has(page));
    assert.deepEqual(shown, []);
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

  it('the documentation proves each rule of the specifications by a test that exists, or says that it is not built', async () => {
    const [rules, ours] = await Promise.all(
      ['conformance.md', 'node-maintenance.md'].map((page) => readFile(path.join(DOCS, 'reference', page), 'utf8')),
    );
    const rows = [...(rules ?? '').matchAll(/^\| [^|]+ \| ([^|]+) \|$/gm)].map(([, proof = '']) => proof);
    const proofs = [...(ours ?? '').matchAll(/\| (`[\w/-]+` "[^|]+") \|$/gm)].map(([, proof = '']) => proof);
    assert.ok(rows.length > 120 && proofs.length > 6);
    const missing = [...rows, ...proofs.map((proof) => proof.replace('`', '`integration/'))].filter((proof) => {
      const [, file, title = ''] = /^`([\w/-]+)` "(.+)"$/.exec(proof) ?? [];
      if (file === undefined) return !proof.startsWith('**not built**');
      const test = path.join(ROOT, 'test', `${file}.test.ts`);
      const text = existsSync(test) ? readFileSync(test, 'utf8').replaceAll("\\'", "'") : '';
      const begins = ["'", '"', '`'].flatMap((quote) => text.split(`${quote}${title}`).slice(1));
      return begins.filter((rest) => !/^\w/.test(rest)).length !== 1;
    });
    assert.deepEqual(missing, []);
  });

  it('the documentation names only files of the source that exist', async () => {
    const missing: string[] = [];
    // The change log names what is gone, too.
    for (const page of pages().filter((each) => path.basename(each) !== 'CHANGELOG.md')) {
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
