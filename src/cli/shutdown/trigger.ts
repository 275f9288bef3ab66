import { askAgent } from '../../agent/control/client.ts';
import { parseDeadline } from '../arguments/parse.ts';

/** `nodemaint trigger`: announces a shutdown to this machine's agent. */
export async function triggerCommand(runDirectory: string, reason: string, deadline?: string): Promise<string> {
  const deadlineMs = deadline === undefined ? undefined : parseDeadline(deadline);
  const request = { verb: 'trigger', reason, ...(deadlineMs === undefined ? {} : { deadlineMs }) } as const;
  await askAgent(runDirectory, request);
  return 'The agent is draining this node; see: nodemaint status\n';
}

/** `nodemaint cancel`: cancels an announced shutdown. */
export async function cancelCommand(runDirectory: string): Promise<string> {
  await askAgent(runDirectory, { verb: 'cancel' });
  return 'The shutdown is canceled; the agent restores the manifests. See: nodemaint status\n';
}
