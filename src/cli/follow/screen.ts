/** The parts of a screen that shows something as it goes on: a block that is redrawn in place, or one line per change. */
import { rfc3339 } from '../../decide/time.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import { printable } from '../../printable.ts';
import { cut, type FrameLine, type FrameSize } from '../terminal/paint.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** What every such screen does. */
export interface FollowScreen {
  /** Shows a sentence that is not about the followed objects, such as a lost connection; undefined removes it. */
  note(text: string | undefined): void;
  /** Redraws the block, where there is one. */
  draw(): void;
}

/** Makes the lines of a block for a terminal of this size, at `now` (milliseconds since the epoch). */
type Frame = (note: string | undefined, size: FrameSize, now: number) => readonly FrameLine[];

/** Cuts lines and the note below them to the size of the terminal; a line says how many are left out. */
export function fitFrame(
  lines: readonly FrameLine[],
  note: string | undefined,
  { columns, rows }: FrameSize,
): readonly FrameLine[] {
  const notes: FrameLine[] = note === undefined ? [] : [{ text: printable(note), style: 'warn' }];
  const room = Math.max(1, rows - 1 - notes.length);
  const hidden = lines.length - room + 1;
  const shown: readonly FrameLine[] =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), { text: `... and ${hidden} more lines`, style: 'dim' }];
  return [...shown, ...notes].map(({ text, style }) => ({ text: cut(text, columns), style }));
}

/** Makes a block that is redrawn in place. */
export function createBlock(terminal: Pick<Terminal, 'draw' | 'size' | 'now'>, frame: Frame): FollowScreen {
  let note: string | undefined;
  let height = 0;
  return {
    note: (text) => {
      note = text;
    },
    draw: () => {
      const lines = frame(note, terminal.size(), terminal.now());
      terminal.draw(lines, height);
      height = lines.length;
    },
  };
}

/** Makes a screen without a block: a note is said once, and again only after another note or none. */
export function createNotes(say: (text: string) => void): FollowScreen {
  return { note: createLogOnce(say), draw: () => undefined };
}

/** Writes a line with the time in front of it. */
export function writeTimedLine(terminal: Pick<Terminal, 'write' | 'now'>, text: string): void {
  terminal.write(`${rfc3339(terminal.now())} ${printable(text)}\n`);
}
