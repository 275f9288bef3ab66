import type { EvictProgress } from '../../decide/view/eviction-progress.ts';
import { rfc3339 } from '../../decide/time.ts';
import { printable } from '../../printable.ts';
import { orderLine, type PodProgress, progressFrame, stateLine } from './frame.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Shows evictions as they go on. */
export interface EvictScreen {
  /** Takes what is new of a pod; says it at once where there is no block to redraw. */
  changed(name: string, progress: EvictProgress): void;
  /** Something that is not about one pod, such as a lost connection; undefined when it is over. */
  note(text: string | undefined): void;
  /** Draws the block anew, where there is one. */
  draw(): void;
}

/** A line for each change, with the time. */
function createLineScreen(terminal: Terminal): EvictScreen {
  const last = new Map<string, string>();
  const say = (key: string, about: string, text: string): void => {
    if (text === '' || last.get(key) === text) return;
    last.set(key, text);
    terminal.write(`${rfc3339(terminal.now())} ${about}${printable(text)}\n`);
  };
  return {
    changed: (name, progress) => {
      say(`order ${name}`, `pod/${name} `, orderLine(progress));
      say(`state ${name}`, `pod/${name} `, stateLine(progress));
    },
    note: (text) => {
      if (text === undefined) last.delete('note');
      else say('note', '', text);
    },
    draw: () => undefined,
  };
}

/** A block that is redrawn in place. */
function createBlockScreen(terminal: Terminal): EvictScreen {
  const pods = new Map<string, PodProgress>();
  let note: string | undefined;
  let drawn = 0;
  return {
    changed: (name, progress) => {
      pods.set(name, { name, progress });
    },
    note: (text) => {
      note = text;
    },
    draw: () => {
      const lines = progressFrame([...pods.values()], note, terminal.size(), terminal.now());
      terminal.draw(lines, drawn);
      drawn = lines.length;
    },
  };
}

/** Shows nothing: the objects are printed at the end. */
function createSilentScreen(): EvictScreen {
  return { changed: () => undefined, note: () => undefined, draw: () => undefined };
}

/** Makes the screen that fits the output: a block on a terminal, lines elsewhere, nothing before JSON or YAML. */
export function createEvictScreen(terminal: Terminal, silent: boolean): EvictScreen {
  if (silent) return createSilentScreen();
  return terminal.isTerminal ? createBlockScreen(terminal) : createLineScreen(terminal);
}
