import { stringify } from 'yaml';
import { askAgent, controlSocketPath } from '../agent/control.ts';
import type { AgentStatus } from '../agent/status.ts';
import { formatStatus } from './status-table.ts';

export type OutputFormat = 'table' | 'json' | 'yaml';

/** Asks the agent of this machine for its status. */
export async function readStatus(runDirectory: string): Promise<AgentStatus> {
  return (await askAgent(controlSocketPath(runDirectory), { verb: 'status' })) as AgentStatus;
}

/** `nodemaint status`: what the agent of this machine does and waits for, as text. */
export async function statusCommand(runDirectory: string, output: OutputFormat, now: number): Promise<string> {
  const status = await readStatus(runDirectory);
  switch (output) {
    case 'json':
      return `${JSON.stringify(status, null, 2)}\n`;
    case 'yaml':
      return stringify(status);
    case 'table':
      return formatStatus(status, now);
  }
}
