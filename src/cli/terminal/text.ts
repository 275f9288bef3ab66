import { printable } from '../../printable.ts';
import { hangingLines } from './paint.ts';

/** A last column that is narrower than this stands on lines of its own. */
const LEAST_COLUMN = 24;
const INDENT = '    ';

/**
 * The lines of each row of a table: columns of equal width, two spaces apart, in which a cell stays on one line, whatever it
 * contains. Where the table is wider than `columns` characters, only the last column is broken into lines.
 */
export function tableRows(
  cells: readonly (readonly string[])[],
  columns: number = Infinity,
): readonly (readonly string[])[] {
  const rows = cells.map((row) => row.map(printable));
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const last = widths.at(-1) ?? 0;
  const isBelow = before + last > columns && columns - before < Math.min(last, LEAST_COLUMN);
  return rows.map((row) => {
    const head = row.slice(0, count - 1).map((cell, column) => `${cell.padEnd(widths[column] ?? 0)}  `);
    const text = row[count - 1] ?? '';
    const start = head.join('');
    if (!isBelow) return hangingLines({ head: start }, text, columns, 'plain').map((line) => line.text);
    const below = text === '' || text === '-' ? [] : hangingLines({ head: INDENT }, text, columns, 'plain');
    return [start.trimEnd(), ...below.map((line) => line.text)];
  });
}

/** Such a table as one text. */
export function formatTable(cells: readonly (readonly string[])[], columns: number = Infinity): string {
  return tableRows(cells, columns).flat().join('\n');
}
