/**
 * The node agent's one loop: decide the phase from facts that are read, run the steps that act on it, wait for an event. What
 * reads the facts changes nothing: what acts is a step with a name.
 * Each iteration reads everything again, so a lost signal, a restart or a reboot changes nothing.
 */
import { loopPauseMs } from '../decide/shutdown/loop-pause.ts';
import type { Notices } from './notices/notices.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import { endsPhase } from './shutdown/facts.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import type { PhaseMachine } from './phase/phase-machine.ts';
import type { StaticPodPass } from './drain/pod-pass.ts';
import type { StepRunner, Steps, Iteration } from './iteration/step.ts';
import type { Wakeup } from './iteration/wakeup.ts';

export interface LoopDependencies {
  readonly machine: Pick<PhaseMachine, 'decide' | 'record'>;
  /** The steps before the phase is decided, whose outcome is one of its facts. */
  readonly firstSteps: Steps;
  /** The steps after that, in their order. */
  readonly steps: Steps;
  readonly runner: StepRunner;
  readonly lastPass: () => StaticPodPass | undefined;
  /** Whether requests, moves or ending pods are followed, of which no event tells everything. */
  readonly isBusy: () => boolean;
  readonly detector: Pick<ShutdownDetector, 'managerStopping' | 'beginsInMs'>;
  readonly notices: Pick<Notices, 'dueInMs'>;
  readonly lock: Pick<LockReconciler, 'release'>;
  readonly wakeup: Wakeup;
  /** Tells the watchdog that the loop does not hang. */
  readonly markProgress: () => void;
  /** Lets go of connections that a busy agent keeps open. */
  readonly rest: () => void;
}

type TurnDependencies = Pick<LoopDependencies, 'machine' | 'firstSteps' | 'steps' | 'runner' | 'lastPass'>;

/**
 * One iteration: the phase is decided once, then every step acts on it. Nothing keeps a step from running, not even a phase that
 * could not be decided: the steps then go by the phase before, which is still the right one to hold the shutdown.
 * Returns whether the next iteration should follow at once.
 */
export async function runIteration(
  { machine, firstSteps, steps, runner, lastPass }: TurnDependencies,
  signal: AbortSignal,
): Promise<boolean> {
  await runner.runAll(firstSteps, { phase: machine.record().phase, transition: undefined }, signal);
  const decided = await runner.attempt('decide the phase', () => machine.decide(signal), signal);
  const iteration: Iteration = { phase: machine.record().phase, transition: decided?.value };
  await runner.runAll(steps, iteration, signal);
  if (decided === undefined) return false;
  const pass = lastPass();
  return iteration.transition !== undefined || (pass?.phase === iteration.phase && endsPhase(pass));
}

/** Whether the agent may end although its phase is not over: a restart or an upgrade ends this process only. */
async function mayStop(
  { machine, detector }: Pick<LoopDependencies, 'machine' | 'detector'>,
  signal: AbortSignal,
): Promise<boolean> {
  // Where systemd stops all units, ending this one would let the machine go down before the drain is over.
  return machine.record().phase.kind !== 'draining' || !(await detector.managerStopping(signal));
}

function pauseMs({ machine, isBusy, notices, detector }: LoopDependencies): number {
  return loopPauseMs({
    phase: machine.record().phase,
    isBusy: isBusy(),
    noticeDueInMs: notices.dueInMs(),
    shutdownBeginsInMs: detector.beginsInMs(),
  });
}

/** Runs until `stop` is aborted and nothing is under way that only this agent can finish, or `signal` is aborted. */
export async function runLoop(dependencies: LoopDependencies, stop: AbortSignal, signal: AbortSignal): Promise<void> {
  const { machine, isBusy, lock, wakeup, markProgress, rest } = dependencies;
  stop.addEventListener('abort', () => {
    wakeup.notify();
  });
  const iteration = async (): Promise<'stop' | 'goOn'> => {
    markProgress();
    const isFollowed = await runIteration(dependencies, signal);
    if (stop.aborted && !isFollowed && (await mayStop(dependencies, signal))) return 'stop';
    if (!isBusy() && machine.record().phase.kind === 'watching') rest();
    markProgress();
    if (!isFollowed) await wakeup.wait(pauseMs(dependencies), signal);
    return 'goOn';
  };
  try {
    while (!signal.aborted && (await iteration()) === 'goOn');
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  // In mid-drain the lock stays: the next agent goes on, and without one the lock's holder lets it go after a time.
  const { kind } = machine.record().phase;
  if ((kind === 'watching' || kind === 'released') && !signal.aborted) await lock.release(signal);
}
