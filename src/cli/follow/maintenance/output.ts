import type { DrainView } from '../../../show/progress/drain-progress.ts';
import { printable } from '../../../printable.ts';
import { formatStreamed } from '../../terminal/document.ts';
import type { ObjectOutput, Terminal } from '../../terminal/terminal.ts';
import { writeTimedLine } from '../timed-line.ts';
import { createDrainChanges } from './changes.ts';

/** Writes a maintenance as it goes on. */
interface DrainOutput {
  /** Writes what is new in the view. */
  readonly show: (view: DrainView) => void;
  /** Writes a sentence that is not about the maintenance. */
  readonly say: (text: string) => void;
}

/** A line with the time for each change; for programs a document for each, JSON on one line each or YAML; nothing after a name. */
export function drainOutput(terminal: Terminal, output: ObjectOutput): DrainOutput {
  if (output === 'table') {
    const changes = createDrainChanges();
    const say = (text: string): void => {
      writeTimedLine(terminal, text);
    };
    return { say, show: (view) => changes.next(view).forEach(say) };
  }
  let last = '';
  return {
    say: (text) => {
      terminal.warn(`nodemaint: ${printable(text)}\n`);
    },
    show: (view) => {
      if (output === 'name') return;
      const text = formatStreamed('DrainStatus', view, output);
      if (text !== last) terminal.write(text);
      last = text;
    },
  };
}
