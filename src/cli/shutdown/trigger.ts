import { askAgent } from '../../agent/control/client.ts';
import { parseDeadline } from '../arguments.ts';

/** `nodemaint trigger`: announces a shutdown to this machine's agent. */
export async function triggerCommand(runDirectory: string, reason: string, deadline?: string): Promise<string> {
  const deadlineMs = deadline === undefined ? undefined : parseDeadline(deadline);
  const request = { verb: 'trigger', reason, ...(deadlineMs === undefined ? {} : { deadlineMs }) } as const;
  await askAgent(runDirectory, request);
  return 'The agent drains this node now; see: nodemaint status\n';
}

/** `nodemaint cancel`: takes an announced shutdown back. */
export async function cancelCommand(runDirectory: string): Promise<string> {
  await askAgent(runDirectory, { verb: 'cancel' });
  return 'The agent puts back what it took away; see: nodemaint status\n';
}
