/** The only place that writes to the terminal: every text from outside is escaped here. */
import { rfc3339 } from '../../decide/time.ts';
import { escaped, escapedLine, printable } from '../../printable.ts';
import { asCalled, type ProgramName } from './called-as.ts';
import { type FrameLine, paint } from './lines.ts';

/** What the program needs from the process: where to write, and when to stop. */
export interface Terminal {
  /** Writes to standard output; control characters are escaped. */
  write(text: string): void;
  /** Writes for people to standard output: as `write`, and commands in the text are named as the person calls them. */
  say(text: string): void;
  /** Writes for people to standard error, as `say` does to standard output. */
  warn(text: string): void;
  /** Writes lines in their styles. */
  draw(lines: readonly FrameLine[]): void;
  readonly isTerminal: boolean;
  /** Its size in characters; meaningful only where it is a terminal. */
  size(): { readonly columns: number; readonly rows: number };
  now(): number;
  /** How the person calls the program. */
  readonly program: ProgramName;
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborted by the second one. */
  readonly signal: AbortSignal;
}

/** The characters of a line; infinite in a file, whose lines are not broken: who reads it later breaks them. */
export function columnsOf({ isTerminal, size }: Pick<Terminal, 'isTerminal' | 'size'>): number {
  return isTerminal ? size().columns : Infinity;
}

/** The used part of an output stream of the process; the optional members are absent where it is not a terminal. */
interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  /** Whether it can show colours and NO_COLOR does not forbid them. */
  hasColors?(): boolean;
}

/** The streams of a terminal, and the signals that stop its program. */
interface TerminalOptions extends Pick<Terminal, 'now' | 'stop' | 'signal'> {
  readonly output: OutputStream;
  readonly errors: OutputStream;
  /** `nodemaint` unless given. */
  readonly program?: ProgramName;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { output, errors, now, stop, signal, program = 'nodemaint' } = options;
  const isTerminal = output.isTTY === true;
  const colours = isTerminal && output.hasColors?.() === true;
  return {
    write: (text) => {
      output.write(escaped(text));
    },
    say: (text) => {
      output.write(escaped(asCalled(text, program)));
    },
    warn: (text) => {
      errors.write(escaped(asCalled(text, program)));
    },
    draw: (lines) => {
      output.write(lines.map((line) => `${paint(escapedLine(line.text), line.style, colours)}\n`).join(''));
    },
    isTerminal,
    size: () => ({ columns: output.columns ?? 80, rows: output.rows ?? 24 }),
    now,
    program,
    stop,
    signal,
  };
}

/** How a command prints its result. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** How a command prints an object that it has changed: `name` as "nodemaintenance.nodemaintenance.x-k8s.io/x". */
export type ObjectOutput = OutputFormat | 'name';

/** Writes a line with the time in front of it. */
export function writeTimedLine(terminal: Pick<Terminal, 'write' | 'now'>, text: string): void {
  terminal.write(`${rfc3339(terminal.now())} ${printable(text)}\n`);
}
