import { askAgent } from '../../agent/control/client.ts';
import type { AgentStatus } from '../../agent/control/status.ts';

/** Asks the agent of this machine for its status. */
export async function readStatus(runDirectory: string): Promise<AgentStatus> {
  return (await askAgent(runDirectory, { verb: 'status' })) as AgentStatus;
}
