import { cancelAnswer, type TriggerFacts, triggerAnswer } from '../decide/shutdown/trigger.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Agent } from './agent.ts';
import type { ControlCommands } from './control/handler.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';

/** How long logind and systemd are asked about a trigger: the client waits for its answer for five seconds. */
const ASK_MS = 2_000;

/** What the commands ask of the machine and the clock. */
interface Surroundings {
  readonly detector: Pick<ShutdownDetector, 'course' | 'trigger' | 'triggered' | 'withdraw' | 'cancelScheduled'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** The commands of the control socket, as an agent that runs carries them out until `living` is aborted. */
export function createControlCommands(
  agent: Pick<Agent, 'status' | 'release' | 'callOff'>,
  { detector, clock }: Surroundings,
  living: AbortSignal,
): ControlCommands {
  const asking = (): AbortSignal => AbortSignal.any([living, AbortSignal.timeout(ASK_MS)]);
  const readFacts = async (): Promise<TriggerFacts> => {
    const machine = await detector.course(asking());
    return { phase: agent.status().phase, inForce: detector.triggered(), machine };
  };
  return {
    status: () => agent.status(),
    release: (reason) => {
      agent.release(reason);
    },
    trigger: async ({ reason, deadlineMs }) => {
      const facts = await readFacts();
      const { says, takesBack } = triggerAnswer(facts);
      const limit = deadlineMs === undefined ? {} : { deadline: clock.now() + deadlineMs };
      detector.trigger({ reason, ...limit });
      if (takesBack) await agent.callOff(facts.phase, { canceledBy: 'root' });
      return says;
    },
    cancel: async () => {
      const facts = await readFacts();
      const answer = cancelAnswer(facts);
      if ('refusal' in answer) throw new NodemaintError('USAGE', answer.refusal);
      const { says, ends, machine } = answer;
      if (machine === 'scheduled') await detector.cancelScheduled(asking());
      const voidLogind = typeof machine === 'object' ? { voidLogind: machine.logind } : {};
      // On the disk before the answer: an agent that starts anew must not hold, or go on with, what was called off.
      const isWritten = !ends || (await agent.callOff(facts.phase, { canceledBy: 'root', ...voidLogind }));
      if (!isWritten) throw new NodemaintError('USAGE', 'the shutdown has just moved on; try again');
      detector.withdraw();
      return says;
    },
  };
}
