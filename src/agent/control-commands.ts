import { cancelAnswer, type TriggerFacts, triggerAnswer } from '../decide/shutdown/trigger.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { Agent } from './agent.ts';
import type { ControlRequest } from './control/protocol.ts';
import type { Wakeup } from './iteration/wakeup.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { ManualRequests } from './static-pods/manual-requests.ts';

/** How long logind and systemd are asked about a trigger: the client waits for its answer for five seconds. */
const ASK_MS = 2_000;

/** What commands need from the start. */
interface Surroundings {
  readonly manual: Pick<ManualRequests, 'park' | 'restore'>;
  readonly wakeup: Pick<Wakeup, 'notify'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'info'>;
}

/** What most of them need besides, which the start makes last. */
interface Running {
  readonly agent: Pick<Agent, 'status' | 'release' | 'callOff'>;
  readonly detector: Pick<ShutdownDetector, 'course' | 'triggered' | 'cancelScheduled'>;
  /** Commands are carried out until it is aborted. */
  readonly living: AbortSignal;
}

/** The commands of the control socket. Before the agent runs, only manual requests for static pods are taken. */
export class ControlCommands {
  readonly #around: Surroundings;
  #running: Running | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** From now on all commands are carried out. */
  serve(running: Running): void {
    this.#running = running;
  }

  /** The answer to a request. Throws USAGE where it is refused, CONTROL_SOCKET_UNAVAILABLE where the agent does not run yet. */
  async handle(request: ControlRequest): Promise<unknown> {
    if (request.verb === 'status') return this.#agent().agent.status();
    const says = await this.#carryOut(request);
    this.#around.log.info(request, 'told over the control socket');
    this.#around.wakeup.notify();
    return { done: request.verb, ...(says === undefined ? {} : { says }) };
  }

  #agent(): Running {
    if (this.#running !== undefined) return this.#running;
    throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
  }

  /** Returns what becomes of a shutdown that is announced or taken back, as a sentence. */
  async #carryOut(request: Exclude<ControlRequest, { readonly verb: 'status' }>): Promise<string | undefined> {
    if (request.verb === 'trigger') return await this.#trigger(this.#agent(), request);
    if (request.verb === 'cancel') return await this.#cancel(this.#agent());
    if (request.verb === 'release') this.#agent().agent.release(request.reason);
    else this.#around.manual[request.verb](request.file);
    return undefined;
  }

  async #read({ agent, detector, living }: Running): Promise<TriggerFacts> {
    const machine = await detector.course(AbortSignal.any([living, AbortSignal.timeout(ASK_MS)]));
    return { phase: agent.status().phase, inForce: detector.triggered, machine };
  }

  async #trigger(
    running: Running,
    { reason, deadlineMs }: Extract<ControlRequest, { readonly verb: 'trigger' }>,
  ): Promise<string> {
    const facts = await this.#read(running);
    const { says, takesBack } = triggerAnswer(facts);
    const limit = deadlineMs === undefined ? {} : { deadline: this.#around.clock.now() + deadlineMs };
    running.detector.triggered = { reason, ...limit };
    if (takesBack) await running.agent.callOff(facts.phase, { canceledBy: 'root' });
    return says;
  }

  async #cancel(running: Running): Promise<string> {
    const { agent, detector, living } = running;
    const facts = await this.#read(running);
    const answer = cancelAnswer(facts);
    if ('refusal' in answer) throw new NodemaintError('USAGE', answer.refusal);
    const { says, ends, machine } = answer;
    if (machine === 'scheduled') {
      await detector.cancelScheduled(AbortSignal.any([living, AbortSignal.timeout(ASK_MS)]));
    }
    const voidLogind = typeof machine === 'object' ? { voidLogind: machine.logind } : {};
    // On the disk before the answer: an agent that starts anew must not hold, or go on with, what was called off.
    const isWritten = !ends || (await agent.callOff(facts.phase, { canceledBy: 'root', ...voidLogind }));
    if (!isWritten) throw new NodemaintError('USAGE', 'the shutdown has just moved on; try again');
    detector.triggered = undefined;
    return says;
  }
}
