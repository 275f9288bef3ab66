import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { globSync } from 'node:fs';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** A table of the module with any text as its key, written as an object. */
const WORD_TABLE = /^(?:export )?const (\w+): (?:(?:Readonly|Partial)<)*Record<string,/gmu;

/** The tables that the file asks for a word: an object also answers words that it inherits, such as "constructor". */
function askedTables(text: string): readonly string[] {
  const tables = [...text.matchAll(WORD_TABLE)].flatMap(([, name]) => (name === undefined ? [] : [name]));
  return tables.filter((name) => new RegExp(`\\b${name}\\[`, 'u').test(text));
}

describe('tables that are asked for a word', () => {
  it('the check finds a table that is asked for a word, and leaves alone one that is only listed', () => {
    const table = "const WORDS: Readonly<Record<string, string>> = { a: 'b' };\n";
    assert.deepEqual(askedTables(`${table}const b = WORDS[word];\n`), ['WORDS']);
    assert.deepEqual(askedTables(`export ${table.replace('Readonly<', 'Partial<')}const b = WORDS[word];\n`), [
      'WORDS',
    ]);
    assert.deepEqual(askedTables(`${table}const b = Object.keys(WORDS);\n`), []);
  });

  it('no table of the source that is asked for a word is an object: each is a Map, which has only its own words', async () => {
    const found: string[] = [];
    for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
      const tables = askedTables(await readFile(path.join(ROOT, file), 'utf8'));
      found.push(...tables.map((name) => `${file}: ${name}`));
    }
    assert.deepEqual(found, []);
  });
});
