/** The page of walks names functions: each is in one of the files that its row links. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';

const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'internals', 'walks.md');

interface Station {
  readonly row: string;
  readonly files: readonly string[];
  readonly functions: readonly string[];
}

/** The rows with a number: the files that they link, and the words in backquotes. */
function stationsIn(page: string): readonly Station[] {
  return page
    .split('\n')
    .filter((row) => /^\| \d+ \|/.test(row))
    .map((row) => ({
      row,
      files: [...row.matchAll(/\]\(([^)]+\.ts)\)/g)].map(([, file = '']) => file),
      functions: [...row.matchAll(/`#?(\w+)[^`]*`/g)].map(([, name = '']) => name),
    }));
}

describe('the page of walks', () => {
  it('the page of walks names functions that are in the files which the row links', async () => {
    const stations = stationsIn(await readFile(PAGE, 'utf8'));
    assert.ok(stations.length >= 40, `${stations.length}`);
    for (const { row, files, functions } of stations) {
      const texts = await Promise.all(files.map((file) => readFile(path.join(path.dirname(PAGE), file), 'utf8')));
      const unknown = functions.filter((name) => !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)));
      assert.deepEqual(unknown, [], row);
    }
  });
});
