import { printable } from '../../printable.ts';
import { hangingLines } from './lines.ts';

/** A last column that is narrower than this stands on lines of its own. */
const LEAST_COLUMN = 24;
const INDENT = '    ';

/** Which columns of these widths stand on each line of a row: the first and the end of each, as for slice. */
function columnLines(widths: readonly number[], columns: number): readonly (readonly [number, number])[] {
  const starts = [0];
  let used = 0;
  for (const [column, width] of widths.entries()) {
    // The last column may be broken into lines; another one only where it has lines of its own.
    const isLast = column === widths.length - 1;
    const fits = used + width <= columns || (isLast && columns - used >= LEAST_COLUMN);
    if (column > 0 && !fits) {
      starts.push(column);
      used = INDENT.length;
    }
    used += width + 2;
  }
  return starts.map((start, index) => [start, starts[index + 1] ?? widths.length] as const);
}

/**
 * The lines of each row of a table: columns of equal width, two spaces apart, in which a cell stays on one line, whatever it
 * contains. Where the table is wider than `columns` characters, its last column is broken into lines, and columns that do not
 * fit stand on further lines, below the others.
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
  const places = columnLines(widths, columns);
  return rows.map((row) =>
    places.flatMap(([from, to], index) => {
      const padded = row.slice(from, to - 1).map((cell, at) => `${cell.padEnd(widths[from + at] ?? 0)}  `);
      const text = row[to - 1] ?? '';
      // A line of its own says nothing where there is nothing to say.
      if (index > 0 && padded.length === 0 && (text === '' || text === '-')) return [];
      const head = `${index === 0 ? '' : INDENT}${padded.join('')}`;
      return hangingLines({ head }, text, columns, 'plain').map((line) => line.text);
    }),
  );
}

/** Such a table as one text. */
export function formatTable(cells: readonly (readonly string[])[], columns: number = Infinity): string {
  return tableRows(cells, columns).flat().join('\n');
}
