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

/** One line of a frame, no wider than the terminal. */
export interface FrameLine {
  readonly text: string;
  readonly style: LineStyle;
}

/** A text in the colours of its style. */
export function paint(text: string, style: LineStyle, colours: boolean): string {
  const format = STYLES[style];
  return format === undefined || !colours ? text : styleText(format, text, { validateStream: false });
}

/** A text in at most `width` characters; three dots stand for what is cut off. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 3))}...`;
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

/** The room on a terminal, in characters. */
export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}
