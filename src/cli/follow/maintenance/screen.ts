import type { DrainView } from '../../../show/progress/drain-progress.ts';
import { printable } from '../../../printable.ts';
import { formatStreamed } from '../../terminal/document.ts';
import type { ObjectOutput, Terminal } from '../../terminal/terminal.ts';
import { createBlock, createNotes, type FollowScreen, writeTimedLine } from '../screen.ts';
import { createDrainChanges } from './changes.ts';
import { drainFrame } from './frame.ts';

/** Shows a maintenance as it goes on. */
export interface DrainScreen extends FollowScreen {
  /** Takes the present view; writes what is new in it at once where there is no block to redraw. */
  changed(view: DrainView): void;
}

/** A line for each change, with the time. */
function createLineScreen(terminal: Terminal): DrainScreen {
  const changes = createDrainChanges();
  const say = (text: string): void => {
    writeTimedLine(terminal, text);
  };
  return {
    ...createNotes(say),
    changed: (view) => {
      for (const line of changes.next(view)) say(line);
    },
  };
}

/** A block that is redrawn in place. */
function createBlockScreen(terminal: Terminal): DrainScreen {
  let view: DrainView | undefined;
  return {
    ...createBlock(terminal, (note, size, now) => drainFrame(view, note, size, now)),
    changed: (latest) => {
      view = latest;
    },
  };
}

/** A document for each change: JSON on one line each, or YAML documents; none after a name. Notes go to standard error. */
function createDocumentScreen(terminal: Terminal, output: 'json' | 'yaml' | 'name'): DrainScreen {
  let last = '';
  return {
    ...createNotes((text) => {
      terminal.warn(`nodemaint: ${printable(text)}\n`);
    }),
    changed: (view) => {
      if (output === 'name') return;
      const text = formatStreamed('DrainStatus', view, output);
      if (text === last) return;
      last = text;
      terminal.write(text);
    },
  };
}

/** Makes the screen that fits the output: a block on a terminal, lines elsewhere, documents for machines, nothing after a name. */
export function createDrainScreen(terminal: Terminal, output: ObjectOutput): DrainScreen {
  if (output !== 'table') return createDocumentScreen(terminal, output);
  return terminal.isTerminal ? createBlockScreen(terminal) : createLineScreen(terminal);
}
