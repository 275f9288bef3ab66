import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAgentConfig } from '../../../src/config/load.ts';
import { configurationTable } from '../../support/docs.ts';

const DOCS = path.join(import.meta.dirname, '..', '..', '..', 'docs');

describe('the documentation', () => {
  it('has the table of the configuration as the schema has it', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    assert.ok(
      text.includes(configurationTable()),
      `docs/reference/configuration.md is stale; its table is:\n${configurationTable()}`,
    );
  });

  it('has an example configuration that is valid', async () => {
    const text = await readFile(path.join(DOCS, 'reference', 'configuration.md'), 'utf8');
    const example = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    assert.equal(parseAgentConfig(example, 'the example').onBoot, 'wait');
  });

  it('explains every error code', async () => {
    const registry = await readFile(path.join(DOCS, '..', 'src', 'errors.ts'), 'utf8');
    const codes = [...registry.matchAll(/\| '([A-Z_]+)'/g)].map(([, code]) => code ?? '');
    assert.ok(codes.length > 10);
    const text = await readFile(path.join(DOCS, 'reference', 'errors.md'), 'utf8');
    assert.deepEqual(
      codes.filter((code) => !text.includes(`\`${code}\``)),
      [],
    );
  });
});
