import { askAgent, controlSocketPath } from '../agent/control.ts';

/** `nodemaint trigger`: announces a shutdown to this machine's agent. */
export async function triggerCommand(runDirectory: string, reason: string): Promise<string> {
  await askAgent(controlSocketPath(runDirectory), { verb: 'trigger', reason });
  return 'The agent drains this node now; see: nodemaint status\n';
}

/** `nodemaint cancel`: takes an announced shutdown back. */
export async function cancelCommand(runDirectory: string): Promise<string> {
  await askAgent(controlSocketPath(runDirectory), { verb: 'cancel' });
  return 'The agent puts back what it took away; see: nodemaint status\n';
}
