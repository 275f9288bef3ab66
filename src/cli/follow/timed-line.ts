import { rfc3339 } from '../../decide/time.ts';
import { printable } from '../../printable.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Writes a line with the time in front of it. */
export function writeTimedLine(terminal: Pick<Terminal, 'write' | 'now'>, text: string): void {
  terminal.write(`${rfc3339(terminal.now())} ${printable(text)}\n`);
}
