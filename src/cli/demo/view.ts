import type { AgentStatus } from '../../agent/control/status.ts';
import { printable } from '../../printable.ts';
import { createBlock } from '../follow/screen.ts';
import type { FrameLine } from '../terminal/paint.ts';
import { progressBar } from '../terminal/paint.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatSpan } from '../../decide/duration.ts';

/** Shows a drain: a block that is redrawn on a terminal, a line for each change elsewhere. */
export interface DemoView {
  show(status: AgentStatus, now: number): void;
}

function describeWaiting(status: AgentStatus, now: number): readonly string[] {
  return status.waitingFor.map(({ what, message, since, expectedAt }) => {
    const left = expectedAt === undefined ? '' : `, at most ${formatSpan(expectedAt - now)} more`;
    const waited = since === undefined ? '' : `, since ${formatSpan(now - since)}`;
    return `${what}: ${message}${waited}${left}`;
  });
}

/** Makes the view that fits the terminal. */
export function drawDemo(terminal: Terminal): DemoView {
  let head = '';
  let waiting: readonly string[] = [];
  let last = '';
  const plain = (text: string): FrameLine => ({ text, style: 'plain' });
  const block = createBlock(terminal, () => [plain(head), ...waiting.map((line) => plain(`  waiting for ${line}`))]);
  return {
    show: (status, now) => {
      const total = status.inPlace.length + status.parked.length;
      // The agent has not read the directory yet.
      if (total === 0) return;
      const ended = status.parked.length - status.waitingFor.length;
      head = `${progressBar(ended, total)} static pods ended`;
      waiting = describeWaiting(status, now);
      if (terminal.isTerminal) {
        block.draw();
        return;
      }
      const names = status.waitingFor.map(({ what }) => what).join(', ');
      const line = `${head}${names === '' ? '' : `; waiting for ${printable(names)}`}`;
      if (line === last) return;
      last = line;
      terminal.write(`${line}\n`);
    },
  };
}
