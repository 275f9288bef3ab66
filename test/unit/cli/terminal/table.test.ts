import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTable, tableRows } from '../../../../src/cli/terminal/table.ts';

const CELLS = [
  ['NODE', 'STATE', 'REASON'],
  ['a', 'going-down', 'it is being drained for a reason that takes many words to tell'],
  ['long-name', 'ok', '-'],
];

describe('a table', () => {
  it('a table has columns of equal width, two spaces apart, and no spaces at the end of a line', () => {
    const rows = ['NAME AGE', 'a 5m', 'longer '].map((row) => row.split(' '));
    assert.equal(formatTable(rows), 'NAME    AGE\na       5m\nlonger');
  });

  it('a cell stays on one line, whatever it contains', () => {
    assert.doesNotMatch(formatTable([['a\nb', 'c\u001b[31m']]), /\p{Cc}/u);
  });

  it('the last column is broken into lines where the table is too wide', () => {
    const rows = tableRows(CELLS, 60);
    for (const line of rows.flat()) assert.ok(line.length <= 60, line);
    assert.equal(rows[0]?.length, 1);
    assert.ok((rows[1]?.length ?? 0) > 1);
    assert.equal(rows[2]?.length, 1);
  });

  it('columns that do not fit stand on further lines, and one that says nothing has none', () => {
    const rows = tableRows(CELLS, 34);
    for (const line of rows.flat()) assert.ok(line.length <= 34, line);
    assert.match(rows[1]?.[1] ?? '', /^ {4}it is being/);
    assert.equal(rows[2]?.length, 1);
  });

  it('a row with fewer cells is a row all the same, and a table without rows is empty', () => {
    for (const row of tableRows([['a', 'b'], ['c']])) assert.equal(row.length, 1);
    assert.equal(formatTable([]), '');
  });
});
