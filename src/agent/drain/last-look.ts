import {
  type Alone,
  isAlone,
  leftRunning,
  leftUnknown,
  LONGEST_RUNNING_MS,
  type PodSource,
  runningPods,
} from '../../decide/shutdown/running-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Waiting } from '../../decide/node/waits.ts';
import type { DrainPass } from './drainer.ts';

/** The look at the container runtime before the machine is let go by what the API server says of its pods. */
export interface LastLook {
  /**
   * The pass as it is, while it is not over or nothing runs any more; else one that waits for what runs, for two minutes at
   * most. A runtime that does not answer holds nothing up: then the API server's word counts.
   *
   * After somebody has completed the NodeMaintenance every pass is looked at, and says what runs; the phase machine counts
   * the two minutes. Then the runtime has ten seconds to answer.
   */
  after(pass: DrainPass, phase: Phase, signal: AbortSignal): Promise<DrainPass>;
}

interface LastLookDependencies {
  readonly runtime: Pick<ContainerRuntime, 'livePods'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** What one look came to. */
type Sight =
  | { readonly kind: 'seen'; readonly names: readonly string[] }
  | { readonly kind: 'unseen'; readonly reason: string };

/** One look at the container runtime. */
type Look = (pass: DrainPass, shutdownSince: number, signal: AbortSignal) => Promise<Sight>;

/** A pod that was bound just before the cordon may be missing in the copies by which the drain is over. */
const COPIES_MS = 5_000;

/** A container runtime that is started anew answers within this time. */
const UNSEEN_MS = 10_000;

function createLook({ runtime }: Pick<LastLookDependencies, 'runtime'>): Look {
  return async (pass, shutdownSince, signal) => {
    // Where something stays that cannot leave, static pods are named already.
    // A machine that waited for its turn has run pods like any other until then.
    const since = Math.max(shutdownSince, pass.downSince ?? shutdownSince) + COPIES_MS;
    const sources: readonly PodSource[] = pass.left === undefined ? ['api', 'file'] : ['api'];
    try {
      return { kind: 'seen', names: runningPods(await runtime.livePods(signal), sources, since) };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unseen', reason: describeError(error) };
    }
  };
}

/** The pass without its end: something is left to wait for. */
function stillOpen({ left: _left, ...pass }: DrainPass, waiting: readonly Waiting[]): DrainPass {
  const known = new Set(pass.waiting.map(({ what }) => what));
  return { ...pass, drained: false, waiting: [...pass.waiting, ...waiting.filter(({ what }) => !known.has(what))] };
}

/** The look at the end of a drain with the cluster. */
function createEndLook({ clock, log }: LastLookDependencies, look: Look): LastLook {
  let from: Moment | undefined;
  const warnUnseen = createLogOnce((reason) => {
    log.warn(
      { reason },
      'the container runtime does not tell which pods run; the machine is let go by what the API server says',
    );
  });
  const warnRunning = createLogOnce((pods) => {
    log.warn(
      { pods },
      'the API server says that the pods of this node have left, and these still run; waiting for them',
    );
  });
  return {
    after: async (pass, phase, signal) => {
      if (!pass.drained || phase.kind !== 'draining') {
        from = undefined;
        return pass;
      }
      const sight = await look(pass, phase.since, signal);
      const names = sight.kind === 'seen' ? sight.names : [];
      warnUnseen(sight.kind === 'unseen' ? sight.reason : undefined);
      warnRunning(names.length === 0 ? undefined : names.join(', '));
      if (names.length === 0) return pass;
      const now = momentOf(clock);
      from ??= now;
      const since = asOfNow(from, now);
      const expectedAt = Math.min(since + LONGEST_RUNNING_MS, phase.deadline?.at ?? Infinity);
      if (now.monotonic - from.monotonic >= LONGEST_RUNNING_MS || now.wall >= expectedAt) {
        return { ...pass, left: [pass.left, leftRunning(names)].filter((each) => each !== undefined).join('; ') };
      }
      const message = 'still runs, although the API server says that the pods of this node have left';
      const waiting = names.map(
        (what) => ({ wait: 'running-pods', what, on: 'container runtime', message, since, expectedAt }) as const,
      );
      return stillOpen(pass, waiting);
    },
  };
}

/** The look in each pass after somebody has completed the NodeMaintenance. */
function createLookAlone(
  { clock, log }: LastLookDependencies,
  look: Look,
): (pass: DrainPass, phase: Alone, signal: AbortSignal) => Promise<DrainPass> {
  let began: { readonly completed: Alone['completed']; readonly at: Moment } | undefined;
  /** Since when the runtime has not answered, on the monotonic clock. */
  let unseenFrom: number | undefined;
  const warnRunning = createLogOnce((pods) => {
    log.warn({ pods }, 'somebody has completed the NodeMaintenance, and these pods still run; waiting for them');
  });
  const unseen = (pass: DrainPass, { maintenance }: Alone, reason: string): DrainPass => {
    unseenFrom ??= clock.monotonic();
    if (clock.monotonic() - unseenFrom < UNSEEN_MS) {
      const what = 'the pods of this node';
      return stillOpen(pass, [{ wait: 'unseen-pods', what, on: 'container runtime', message: 'are not known' }]);
    }
    return { ...pass, drained: true, left: leftUnknown(maintenance, reason) };
  };
  return async (pass, phase, signal) => {
    const now = momentOf(clock);
    if (began?.completed !== phase.completed) {
      began = { completed: phase.completed, at: now };
      unseenFrom = undefined;
    }
    const sight = await look(pass, phase.since, signal);
    if (sight.kind === 'unseen') return unseen(pass, phase, sight.reason);
    unseenFrom = undefined;
    const { names } = sight;
    warnRunning(names.length === 0 ? undefined : names.join(', '));
    if (names.length === 0) return { ...pass, running: names };
    const since = asOfNow(began.at, now);
    const expectedAt = Math.min(since + LONGEST_RUNNING_MS, phase.deadline?.at ?? Infinity);
    const message = 'still runs, although somebody has completed the NodeMaintenance';
    const waiting = names.map(
      (what) => ({ wait: 'running-pods', what, on: 'container runtime', message, since, expectedAt }) as const,
    );
    return { ...stillOpen(pass, waiting), running: names };
  };
}

/** Asks nothing before the first pass that is over, or the first one after a completion by somebody else. */
export function createLastLook(dependencies: LastLookDependencies): LastLook {
  const look = createLook(dependencies);
  const end = createEndLook(dependencies, look);
  const alone = createLookAlone(dependencies, look);
  return {
    after: (pass, phase, signal) => {
      return isAlone(phase) ? alone(pass, phase, signal) : end.after(pass, phase, signal);
    },
  };
}
