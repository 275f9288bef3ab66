import { styleText } from 'node:util';

/** The look of a line where the terminal has colours. */
export type LineStyle = 'plain' | 'bold' | 'dim' | 'good' | 'warn' | 'bad';

const STYLES = {
  plain: undefined,
  bold: 'bold',
  dim: 'dim',
  good: 'green',
  warn: 'yellow',
  bad: 'red',
} as const satisfies Record<LineStyle, Parameters<typeof styleText>[0] | undefined>;

/** One line, no wider than the terminal. */
export interface FrameLine {
  readonly text: string;
  readonly style: LineStyle;
}

/** A text in the colours of its style. */
export function paint(text: string, style: LineStyle, colours: boolean): string {
  const format = STYLES[style];
  return format === undefined || !colours ? text : styleText(format, text, { validateStream: false });
}

/** A text in at most `width` characters; three dots stand for what is cut off, which is whole words where that leaves enough. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const space = text.lastIndexOf(' ', width - 4);
  return space > width / 2 ? `${text.slice(0, space)} ...` : `${text.slice(0, Math.max(0, width - 3))}...`;
}

/** Breaks a text into lines at spaces; what is beyond the last line is cut. */
export function wrap(text: string, width: number, maxLines: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width && lines.length < maxLines - 1) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, cut(rest, width)];
}

/** The narrowest column into which a text is broken. */
const LEAST_WIDTH = 30;

/** What stands before a text that may take several lines: before its first line, and before each other one. */
interface Hanging {
  readonly head: string;
  /** Default: as many spaces as the head is long. */
  readonly indent?: string;
  /** The most lines; what is beyond them is cut. Default: 12. */
  readonly most?: number;
}

const SHORT_INDENT = '    ';

/** The indent, or a shorter one where a word, such as a path to copy, would not fit behind it. */
function fittingIndent(indent: string, text: string, columns: number): string {
  if (indent.length <= SHORT_INDENT.length || text.length + indent.length <= columns) return indent;
  const longest = Math.max(...text.split(' ').map((word) => word.length));
  return longest > columns - indent.length ? SHORT_INDENT : indent;
}

/** A text behind a head, broken into lines that stand below each other in `columns` characters. */
export function hangingLines(
  { head, indent: wanted = ' '.repeat(head.length), most = 12 }: Hanging,
  text: string,
  columns: number,
  style: LineStyle,
): readonly FrameLine[] {
  const indent = fittingIndent(wanted, text, columns);
  const width = Math.max(LEAST_WIDTH, columns - head.length);
  if (text.length <= width || most === 1) return [{ text: `${head}${cut(text, width)}`.trimEnd(), style }];
  // The first line may have less room than the others.
  const space = text.lastIndexOf(' ', width);
  const end = space > 0 ? space : indent.length < head.length ? 0 : width;
  const rest = wrap(text.slice(end).trimStart(), Math.max(LEAST_WIDTH, columns - indent.length), most - 1);
  const lines = [`${head}${text.slice(0, end)}`, ...rest.map((line) => `${indent}${line}`)];
  return lines.map((line) => ({ text: line.trimEnd(), style }));
}

/** A share as a bar. */
export function shareBar(done: number, total: number, width: number): string {
  const filled = total === 0 ? width : Math.floor((Math.min(done, total) / total) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
