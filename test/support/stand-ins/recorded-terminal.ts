import { createTerminal, type Terminal } from '../../../src/cli/terminal/terminal.ts';

/** A terminal that keeps what is written to it. */
export interface RecordedTerminal {
  readonly terminal: Terminal;
  output(): string;
  errors(): string;
  /** Stops the command, as Ctrl-C does. */
  interrupt(): void;
}

/** Makes one without colours: of 100 columns and 30 rows, or a pipe. `now` is the time that it shows. */
export function recordTerminal(kind: 'terminal' | 'pipe', now: () => number = Date.now): RecordedTerminal {
  const texts = { output: '', errors: '' };
  const stop = new AbortController();
  const stream = (name: keyof typeof texts): { write(text: string): void } => ({
    write: (text) => (texts[name] += text),
  });
  const output = { ...stream('output'), isTTY: kind === 'terminal', columns: 100, rows: 30, hasColors: () => false };
  const signal = new AbortController().signal;
  return {
    terminal: createTerminal({ output, errors: stream('errors'), now, stop: stop.signal, signal }),
    output: () => texts.output,
    errors: () => texts.errors,
    interrupt: () => stop.abort(),
  };
}
