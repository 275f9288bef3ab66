import type { Check } from '../../show/checks/node-checks.ts';
import { printable } from '../../printable.ts';
import { formatDocument } from './document.ts';
import { EXIT } from './exit-code.ts';
import { type FrameLine, hangingLines, type LineStyle } from './lines.ts';
import { columnsOf, type OutputFormat, type Terminal } from './terminal.ts';

const STYLES = { ok: 'plain', warn: 'warn', fail: 'bad' } as const satisfies Record<Check['result'], LineStyle>;

const HOW_TO_FIX: readonly FrameLine[] = [
  { text: '', style: 'plain' },
  { text: 'How to fix it:', style: 'bold' },
];

/** The checks as a table, and what to do below it. Lines of a file are not broken: `columns` is infinite there. */
export function checkLines(checks: readonly Check[], columns: number): readonly FrameLine[] {
  const width = Math.max(5, ...checks.map(({ name }) => printable(name).length));
  const headOf = (result: string, name: string): string => `${result.padEnd(6)}  ${printable(name).padEnd(width)}  `;
  const fixes = checks.filter(({ fix }) => fix !== '');
  return [
    { text: `${headOf('RESULT', 'CHECK')}FINDING`, style: 'plain' },
    ...checks.flatMap(({ name, result, message }) =>
      hangingLines({ head: headOf(result, name) }, printable(message), columns, STYLES[result]),
    ),
    ...(fixes.length === 0 ? [] : HOW_TO_FIX),
    ...fixes.flatMap(({ name, fix }) =>
      hangingLines({ head: `  ${printable(name)}: `, indent: '    ' }, printable(fix), columns, 'plain'),
    ),
  ];
}

/** Prints the checks of a node or of a cluster; returns the exit code: 1 where one fails. */
export function printChecks(
  checks: readonly Check[],
  output: OutputFormat,
  terminal: Pick<Terminal, 'write' | 'draw' | 'isTerminal' | 'size'>,
): number {
  if (output === 'table') terminal.draw(checkLines(checks, columnsOf(terminal)));
  else terminal.write(formatDocument('CheckList', { items: checks }, output));
  return checks.some(({ result }) => result === 'fail') ? EXIT.failed : EXIT.done;
}
