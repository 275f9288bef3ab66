import type { EvictProgress } from '../../show/progress/eviction-progress.ts';
import { createBlock, createNotes, type FollowScreen, writeTimedLine } from '../follow/screen.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { orderLine, type PodProgress, progressFrame, stateLine } from './frame.ts';

/** Shows evictions as they go on. */
export interface EvictScreen extends FollowScreen {
  /** Takes the progress of a pod; writes what is new of it at once where there is no block to redraw. */
  changed(name: string, progress: EvictProgress): void;
}

/** A line for each change, with the time. */
function createLineScreen(terminal: Terminal): EvictScreen {
  const last = new Map<string, string>();
  const say = (key: string, pod: string, text: string): void => {
    if (text === '' || last.get(key) === text) return;
    last.set(key, text);
    writeTimedLine(terminal, `pod/${pod} ${text}`);
  };
  return {
    ...createNotes((text) => {
      writeTimedLine(terminal, text);
    }),
    changed: (name, progress) => {
      say(`order ${name}`, name, orderLine(progress));
      say(`state ${name}`, name, stateLine(progress));
    },
  };
}

/** A block that is redrawn in place. */
function createBlockScreen(terminal: Terminal): EvictScreen {
  const pods = new Map<string, PodProgress>();
  return {
    ...createBlock(terminal, (note, size, now) => progressFrame([...pods.values()], note, size, now)),
    changed: (name, progress) => {
      pods.set(name, { name, progress });
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
