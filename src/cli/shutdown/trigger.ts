import { askAgent } from '../../agent/control/client.ts';
import type { ControlRequest } from '../../agent/control/protocol.ts';
import { parseDeadline } from '../arguments/parse.ts';

/** Sends a request; returns the agent's answer as a line. Older agents say nothing: `otherwise` is shown then. */
async function told(runDirectory: string, request: ControlRequest, otherwise: string): Promise<string> {
  const { says } = (await askAgent(runDirectory, request)) as { readonly says?: unknown };
  return `${typeof says === 'string' ? says : otherwise}\n`;
}

/** `nodemaint trigger`: announces a shutdown to this machine's agent. */
export async function triggerCommand(runDirectory: string, reason: string, deadline?: string): Promise<string> {
  const deadlineMs = deadline === undefined ? undefined : parseDeadline(deadline);
  const request = { verb: 'trigger', reason, ...(deadlineMs === undefined ? {} : { deadlineMs }) } as const;
  return await told(runDirectory, request, 'The shutdown is announced; see: nodemaint status');
}

/** `nodemaint cancel`: calls off the shutdown that was asked for on this machine. */
export async function cancelCommand(runDirectory: string): Promise<string> {
  return await told(runDirectory, { verb: 'cancel' }, 'The announcement is taken back; see: nodemaint status');
}
