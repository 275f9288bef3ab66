import type { AgentStatus } from '../../agent/control/status.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import { printable } from '../../printable.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Makes what shows a drain: a line for each change. */
export function drawDemo(terminal: Pick<Terminal, 'write'>): (status: AgentStatus) => void {
  const say = createLogOnce((line) => {
    terminal.write(`${line}\n`);
  });
  return ({ inPlace, parked, waitingFor }) => {
    const total = inPlace.length + parked.length;
    // The agent has not read the directory yet.
    if (total === 0) return;
    const names = waitingFor.map(({ what, message }) => printable(`${what}: ${message}`)).join(', ');
    const head = `${parked.length - waitingFor.length} of ${total} static pods ended`;
    say(`${head}${names === '' ? '' : `; waiting for ${names}`}`);
  };
}
