/** The only place that writes to the terminal, so that no text of somebody else reaches it as it is. */
import { escaped, escapedLine } from '../../printable.ts';
import { type FrameLine, paint } from './paint.ts';

/** What the program needs from the process: where to write, and when to stop. */
export interface Terminal {
  /** Writes to standard output; what could steer a terminal is escaped. */
  write(text: string): void;
  /** Writes to standard error; what could steer a terminal is escaped. */
  warn(text: string): void;
  /** Writes lines in their styles, in the place of the last `over` lines. */
  draw(lines: readonly FrameLine[], over: number): void;
  readonly isTerminal: boolean;
  /** Its room in characters; only where it is a terminal. */
  size(): { readonly columns: number; readonly rows: number };
  now(): number;
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborted by the second one. */
  readonly signal: AbortSignal;
}

/** The part of a stream of the process that is used; what is missing is so where the stream is no terminal. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  /** Whether it shows colours, and is to (NO_COLOR). */
  hasColors?(): boolean;
}

/** What a terminal writes to, and when its program is to stop. */
export interface TerminalOptions extends Pick<Terminal, 'now' | 'stop' | 'signal'> {
  readonly output: OutputStream;
  readonly errors: OutputStream;
}

/** Makes the terminal of a process. */
export function createTerminal({ output, errors, now, stop, signal }: TerminalOptions): Terminal {
  const isTerminal = output.isTTY === true;
  const colours = isTerminal && output.hasColors?.() === true;
  return {
    write: (text) => {
      output.write(escaped(text));
    },
    warn: (text) => {
      errors.write(escaped(text));
    },
    draw: (lines, over) => {
      // To the first column too: what was typed, such as Ctrl-C, is echoed behind the block.
      const up = over === 0 ? '' : `\r\x1b[${over}A\x1b[0J`;
      const text = lines.map((line) => `${paint(escapedLine(line.text), line.style, colours)}\n`).join('');
      output.write(up + text);
    },
    isTerminal,
    size: () => ({ columns: output.columns ?? 80, rows: output.rows ?? 24 }),
    now,
    stop,
    signal,
  };
}
export type OutputFormat = 'table' | 'json' | 'yaml';
