import { stringify } from 'yaml';
import type { DrainView } from '../../../decide/view/drain-progress.ts';
import { rfc3339 } from '../../../decide/time.ts';
import { createDrainChanges } from './changes.ts';
import { drainFrame } from './frame.ts';
import { printable } from '../../../printable.ts';
import type { Terminal, OutputFormat } from '../../terminal/terminal.ts';

/** Shows a maintenance as it goes on. */
export interface DrainScreen {
  /** Takes what is new; says it at once where there is no block to redraw. */
  changed(view: DrainView): void;
  /** Something that is not about the maintenance, such as a lost connection; undefined when it is over. */
  note(text: string | undefined): void;
  /** Draws the block anew, where there is one. */
  draw(): void;
}

/** A line for each change, with the time. */
function createLineScreen(terminal: Terminal): DrainScreen {
  const changes = createDrainChanges();
  let told: string | undefined;
  const say = (text: string): void => {
    terminal.write(`${rfc3339(terminal.now())} ${printable(text)}\n`);
  };
  return {
    changed: (view) => {
      for (const line of changes.next(view)) say(line);
    },
    note: (text) => {
      if (text !== undefined && text !== told) say(text);
      told = text;
    },
    draw: () => undefined,
  };
}

/** A block that is redrawn in place. */
function createBlockScreen(terminal: Terminal): DrainScreen {
  let view: DrainView | undefined;
  let note: string | undefined;
  let drawn = 0;
  return {
    changed: (fresh) => {
      view = fresh;
    },
    note: (text) => {
      note = text;
    },
    draw: () => {
      const lines = drainFrame(view, note, terminal.size(), terminal.now());
      terminal.draw(lines, drawn);
      drawn = lines.length;
    },
  };
}

/** A document for each change: JSON on one line each, or YAML documents. Notes go to standard error. */
function createDocumentScreen(terminal: Terminal, output: 'json' | 'yaml'): DrainScreen {
  let last = '';
  let told: string | undefined;
  return {
    changed: (view) => {
      const text = output === 'json' ? `${JSON.stringify(view)}\n` : `---\n${stringify(view)}`;
      if (text === last) return;
      last = text;
      terminal.write(text);
    },
    note: (text) => {
      if (text !== undefined && text !== told) terminal.warn(`nodemaint: ${printable(text)}\n`);
      told = text;
    },
    draw: () => undefined,
  };
}

/** Makes the screen that fits the output: a block on a terminal, lines elsewhere, documents for machines. */
export function createDrainScreen(terminal: Terminal, output: OutputFormat): DrainScreen {
  if (output !== 'table') return createDocumentScreen(terminal, output);
  return terminal.isTerminal ? createBlockScreen(terminal) : createLineScreen(terminal);
}
