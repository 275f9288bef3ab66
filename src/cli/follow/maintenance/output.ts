import type { DrainView } from '../../../show/progress/drain-progress.ts';
import { printable } from '../../../printable.ts';
import { formatStreamed } from '../../terminal/document.ts';
import { type ObjectOutput, type Terminal, writeTimedLine } from '../../terminal/terminal.ts';
import { createDrainChanges } from './change-lines.ts';

/** Writes maintenances as they go on. */
interface DrainOutput {
  /** Writes what is new in the view. */
  readonly show: (view: DrainView) => void;
  /** Writes a sentence that is not about a maintenance. */
  readonly say: (text: string) => void;
}

/** A line with the time for each change; for programs a document for each, JSON on one line each or YAML; nothing after a name. */
export function drainOutput(terminal: Terminal, output: ObjectOutput): DrainOutput {
  if (output === 'table') {
    const changes = new Map<string, ReturnType<typeof createDrainChanges>>();
    const say = (text: string): void => {
      writeTimedLine(terminal, text);
    };
    const show = (view: DrainView): void => {
      const own = changes.get(view.maintenance) ?? createDrainChanges();
      changes.set(view.maintenance, own);
      own.next(view).forEach(say);
    };
    return { say, show };
  }
  const last = new Map<string, string>();
  return {
    say: (text) => {
      terminal.warn(`nodemaint: ${printable(text)}\n`);
    },
    show: (view) => {
      if (output === 'name') return;
      const text = formatStreamed('DrainStatus', view, output);
      if (text !== last.get(view.maintenance)) terminal.write(text);
      last.set(view.maintenance, text);
    },
  };
}
