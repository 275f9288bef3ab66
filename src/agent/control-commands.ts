import { cancelAnswer, type TriggerFacts, triggerAnswer, triggerRefusal } from '../decide/shutdown/trigger.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Agent } from './agent.ts';
import type { ControlCommands } from './control/handler.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';

/** How long logind and systemd are asked about a trigger: the client waits for its answer for five seconds. */
const ASK_MS = 2_000;

/** What the commands ask of the machine and the clock. */
interface Surroundings {
  readonly machine: { readonly detector: Pick<ShutdownDetector, 'goesDown' | 'trigger' | 'triggered' | 'withdraw'> };
  readonly clock: Pick<Clock, 'now'>;
}

/** The commands of the control socket, as an agent that runs carries them out until `living` is aborted. */
export function createControlCommands(
  agent: Pick<Agent, 'status' | 'release' | 'takeBack'>,
  { machine: { detector }, clock }: Surroundings,
  living: AbortSignal,
): ControlCommands {
  const readFacts = async (): Promise<TriggerFacts> => {
    const asking = AbortSignal.any([living, AbortSignal.timeout(ASK_MS)]);
    const goesDown = await detector.goesDown(asking);
    return { phase: agent.status().phase, inForce: detector.triggered(), goesDown };
  };
  return {
    status: () => agent.status(),
    release: (reason) => {
      agent.release(reason);
    },
    trigger: async ({ by, reason, deadlineMs }) => {
      const facts = await readFacts();
      const refusal = triggerRefusal({ by, deadlineMs }, facts);
      if (refusal !== undefined) throw new NodemaintError('USAGE', refusal);
      const { says, takesBack } = triggerAnswer(facts);
      const limit = deadlineMs === undefined ? {} : { deadline: clock.now() + deadlineMs };
      detector.trigger({ by, reason, ...limit });
      if (takesBack) agent.takeBack();
      return says;
    },
    cancel: async (by) => {
      const answer = cancelAnswer(await readFacts());
      if ('refusal' in answer) throw new NodemaintError('USAGE', answer.refusal);
      detector.withdraw(by);
      if (answer.takesBack) agent.takeBack();
      return answer.says;
    },
  };
}
