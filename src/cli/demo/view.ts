import type { AgentStatus } from '../../agent/control/status.ts';
import { printable } from '../../printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatSpan } from '../terminal/text.ts';

const BAR = 24;

/** Shows a drain as it goes on: a block that is redrawn on a terminal, a line for each change elsewhere. */
export interface DemoView {
  show(status: AgentStatus, now: number): void;
  end(): void;
}

function progressBar(done: number, total: number): string {
  const filled = total === 0 ? BAR : Math.round((done / total) * BAR);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}] ${done}/${total}`;
}

function describeWaiting(status: AgentStatus, now: number): readonly string[] {
  return status.waitingFor.map(({ what, message, since, expectedAt }) => {
    const left = expectedAt === undefined ? '' : `, at most ${formatSpan(expectedAt - now)} more`;
    return `${what}: ${message}, since ${formatSpan(now - since)}${left}`;
  });
}

/** Makes a view on the terminal. */
export function drawDemo(terminal: Terminal): DemoView {
  let lines = 0;
  let last = '';
  return {
    show: (status, now) => {
      const total = status.inPlace.length + status.parked.length;
      const running = status.waitingFor.length;
      const head = `${progressBar(status.parked.length - running, total)} static pods ended`;
      const waiting = describeWaiting(status, now);
      if (terminal.isTerminal) {
        const texts = [head, ...waiting.map((line) => `  waiting for ${line}`)];
        const frame = texts.map((text) => ({ text, style: 'plain' }) as const);
        terminal.draw(frame, lines);
        lines = frame.length;
        return;
      }
      const key = `${head} ${status.waitingFor.map(({ what }) => what).join(' ')}`;
      if (key === last) return;
      last = key;
      const names = status.waitingFor.map(({ what }) => what).join(', ');
      terminal.write(`${head}${names === '' ? '' : `; waiting for ${printable(names)}`}\n`);
    },
    end: () => {
      lines = 0;
    },
  };
}
