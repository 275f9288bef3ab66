/** YAML that was written to take time: each text ends within a second of the processor, by an answer or a refusal. */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { readKubelet } from '../../../../src/host/kubelet/config.ts';
import { CONFIG_LIMITS, createYamlReader } from '../../../../src/host/files/yaml.ts';
import { decodeYaml } from '../../../../src/static-pods/manifest/yaml.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const MAX_MS = 1_000;

function fill(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
}

/** Texts of numbered lines. */
function lines(size: number, line: (index: number) => string): string {
  let text = '';
  for (let index = 0; text.length < size; index++) text += line(index);
  return text;
}

const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  'openers of lists': (size) => fill('[', size),
  'openers of maps': (size) => fill('{a: ', size),
  'lists in lists': (size) => fill('- ', size),
  'deeper and deeper maps': (size) => lines(size, (index) => `${' '.repeat(index)}a:\n`),
  anchors: (size) => lines(size, (index) => `- &a${index} b\n`),
  aliases: (size) => `a: &a b\nl:\n${fill('- *a\n', size)}`,
  'an alias bomb': (size) =>
    lines(size, (index) => (index === 0 ? 'a0: &a0 x\n' : `a${index}: &a${index} [*a${index - 1}, *a${index - 1}]\n`)),
  'merge keys': (size) => `a: &a {x: 1}\nb:\n${fill('  <<: *a\n', size)}`,
  'a chain of merge keys': (size) =>
    lines(size, (index) => `a${index}: &a${index} {<<: *a${Math.max(0, index - 1)}, k${index}: 1}\n`),
  'a long key': (size) => `${fill('k', size)}: 1`,
  'different keys': (size) => lines(size, (index) => `k${index}: 1\n`),
  'the same key': (size) => fill('k: 1\n', size),
  'keys of a flow map': (size) => `{${fill('a,', size)}}`,
  colons: (size) => fill(': ', size),
  'question marks': (size) => fill('? ', size),
  'empty comments': (size) => fill('#\n', size),
  'empty lines': (size) => fill('\n', size),
  dashes: (size) => fill('-\n', size),
  documents: (size) => fill('---\n', size),
  directives: (size) => fill('%TAG ! tag:a,2000:\n', size),
  'quoted texts': (size) => fill('"a" ', size),
  'a text over many lines': (size) => fill('a\n', size),
};

/** Milliseconds of the processor that a call took, whatever else the machine does, and what it threw. */
function costOf(call: () => unknown): { readonly ms: number; readonly error: unknown } {
  const before = process.cpuUsage();
  let error: unknown;
  try {
    call();
  } catch (thrown) {
    error = thrown;
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, error };
}

describe('hostile YAML', () => {
  for (const [name, textOf] of Object.entries(HOSTILE)) {
    it(`hostile YAML costs less than a second: ${name}`, (t) => {
      const worst = [15_000, 2 ** 17, 2 ** 20].flatMap((size) => {
        const text = textOf(size);
        return [
          costOf(() => createYamlReader(CONFIG_LIMITS, { uniqueKeys: false })(text)),
          costOf(() => decodeYaml(text)),
        ];
      });
      for (const { error } of worst) assert.ok(error === undefined || error instanceof Error);
      const ms = Math.max(...worst.map((cost) => cost.ms));
      t.diagnostic(`${Math.round(ms)} ms`);
      assert.ok(ms < MAX_MS, `${ms} ms`);
    });
  }

  it('hostile YAML is not taken in parts either: all files of a configuration share one limit', () => {
    const parse = createYamlReader(CONFIG_LIMITS);
    const text = lines(40_000, (index) => `k${index}: 1\n`);
    const refuse = (): void => {
      for (let index = 0; index < 10; index++) parse(text);
    };
    assert.throws(refuse, /pieces of YAML|KiB of YAML/);
  });

  it('hostile YAML is refused where JSON of the same kind is nested too deep', () => {
    assert.throws(
      () => createYamlReader(CONFIG_LIMITS)(`${'['.repeat(200)}${']'.repeat(200)}`),
      /nested more than 100/,
    );
    assert.throws(() => createYamlReader(CONFIG_LIMITS)(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`), /nested/);
  });
});

describe('the files of a kubelet', () => {
  const { signal } = new AbortController();
  const HEAD = 'kind: KubeletConfiguration\n';

  it('the files of a kubelet are read each time, and what is no file is refused', async (t) => {
    const folder = await temporaryFolder(t, 'files');
    const file = path.join(folder, 'kubelet.yaml');
    const kubelet = { pid: 1, flags: new Map([['config', file]]), isK3s: false };
    const port = async (): Promise<number> => (await readKubelet(kubelet, signal)).healthzPort;
    await writeFile(file, `${HEAD}healthzPort: 1\n`);
    assert.equal(await port(), 1);
    await writeFile(file, `${HEAD}healthzPort: 2\n`);
    assert.equal(await port(), 2);
    await rm(file);
    await mkdir(file);
    await assert.rejects(port(), { code: 'CONFIG_INVALID', message: /it is no file|EISDIR/ });
  });
});
