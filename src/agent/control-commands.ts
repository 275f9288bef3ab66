import { triggerRefusal } from '../decide/shutdown/trigger.ts';
import { NodemaintError } from '../errors.ts';
import type { Agent } from './agent.ts';
import type { AgentContext } from './context.ts';
import type { ControlCommands } from './control/handler.ts';

/** How long logind and systemd are asked about a trigger: the client waits for its answer for five seconds. */
const ASK_MS = 2_000;

/** The commands of the control socket, as an agent that runs carries them out until `living` is aborted. */
export function createControlCommands(
  agent: Agent,
  { machine: { detector }, clock }: Pick<AgentContext, 'machine' | 'clock'>,
  living: AbortSignal,
): ControlCommands {
  return {
    status: () => agent.status(),
    release: (reason) => {
      agent.release(reason);
    },
    trigger: async ({ by, reason, deadlineMs }) => {
      const asking = AbortSignal.any([living, AbortSignal.timeout(ASK_MS)]);
      const goesDown = by === 'group' && (await detector.goesDown(asking));
      const facts = { phase: agent.status().phase, inForce: detector.triggered(), goesDown };
      const refusal = triggerRefusal({ by, deadlineMs }, facts);
      if (refusal !== undefined) throw new NodemaintError('USAGE', refusal);
      detector.trigger({ by, reason, ...(deadlineMs === undefined ? {} : { deadline: clock.now() + deadlineMs }) });
    },
    cancel: () => {
      detector.trigger(undefined);
    },
  };
}
