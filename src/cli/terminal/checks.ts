import type { Check } from '../../decide/view/node-checks.ts';
import { printable } from '../../printable.ts';
import { formatDocument } from './document.ts';
import { EXIT } from './exit-code.ts';
import { type FrameLine, type LineStyle, wrap } from './paint.ts';
import type { OutputFormat, Terminal } from './terminal.ts';

const STYLES = { ok: 'plain', warn: 'warn', fail: 'bad' } as const satisfies Record<Check['result'], LineStyle>;
/** The narrowest column of findings, and the most lines of one. */
const [LEAST, MOST_LINES] = [30, 12];

/** A text behind a head, broken into lines that stand below each other. */
function hanging(head: string, text: string, columns: number, style: LineStyle): readonly FrameLine[] {
  const lines = wrap(printable(text), Math.max(LEAST, columns - head.length), MOST_LINES);
  const before = (index: number): string => (index === 0 ? head : ' '.repeat(head.length));
  return lines.map((line, index) => ({ text: `${before(index)}${line}`.trimEnd(), style }));
}

/** The checks as a table, and what to do below it. Lines of a file are not broken: `columns` is infinite there. */
function linesOf(checks: readonly Check[], columns: number): readonly FrameLine[] {
  const width = Math.max(5, ...checks.map(({ name }) => printable(name).length));
  const headOf = (result: string, name: string): string => `${result.padEnd(6)}  ${printable(name).padEnd(width)}  `;
  const fixes = checks.filter(({ fix }) => fix !== '');
  return [
    { text: `${headOf('RESULT', 'CHECK')}FINDING`, style: 'plain' },
    ...checks.flatMap(({ name, result, message }) => hanging(headOf(result, name), message, columns, STYLES[result])),
    ...(fixes.length === 0
      ? []
      : ([
          { text: '', style: 'plain' },
          { text: 'How to fix it:', style: 'bold' },
        ] as const)),
    ...fixes.flatMap(({ name, fix }) => hanging(`  ${printable(name)}: `, fix, columns, 'plain')),
  ];
}

/** Prints the checks of a node or of a cluster; returns the exit code: 1 where one fails. */
export function printChecks(
  checks: readonly Check[],
  output: OutputFormat,
  terminal: Pick<Terminal, 'write' | 'draw' | 'isTerminal' | 'size'>,
): number {
  if (output === 'table') terminal.draw(linesOf(checks, terminal.isTerminal ? terminal.size().columns : Infinity), 0);
  else terminal.write(formatDocument('CheckList', { items: checks }, output));
  return checks.some(({ result }) => result === 'fail') ? EXIT.failed : EXIT.done;
}
