import { leftRunning, LONGEST_RUNNING_MS, type PodSource, runningPods } from '../../decide/shutdown/running-pods.ts';
import { type Alone, leftUnknown } from '../../decide/shutdown/completed-maintenance.ts';
import { RESTARTED_MS } from '../../decide/shutdown/unseen-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce, createWarnOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { Waiting } from '../../decide/node/waits.ts';
import type { DrainPass } from './drainer.ts';

interface RunningPodsDependencies {
  readonly runtime: Pick<ContainerRuntime, 'livePods'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** What one look came to. */
type Sight =
  | { readonly kind: 'seen'; readonly names: readonly string[] }
  | { readonly kind: 'unseen'; readonly reason: string };

/** A pod that was bound just before the cordon may be missing in the copies by which the drain is over. */
const COPIES_MS = 5_000;

/** The pass without its end: something is left to wait for. */
function stillOpen({ left: _left, ...pass }: DrainPass, waiting: readonly Waiting[]): DrainPass {
  const known = new Set(pass.waiting.map(({ what }) => what));
  return { ...pass, drained: false, waiting: [...pass.waiting, ...waiting.filter(({ what }) => !known.has(what))] };
}

/** The pass that waits for pods that run: since when, and why that is strange. */
function waitingFor(
  pass: DrainPass,
  names: readonly string[],
  { deadline }: Pick<Alone, 'deadline'>,
  { since, although }: { readonly since: number; readonly although: string },
): DrainPass {
  const expectedAt = Math.min(since + LONGEST_RUNNING_MS, deadline?.at ?? Infinity);
  const message = `still runs, although ${although}`;
  return stillOpen(
    pass,
    names.map((what) => ({ wait: 'running-pods', what, on: 'container runtime', message, since, expectedAt }) as const),
  );
}

/**
 * The look at the container runtime before the machine is let go by what the API server says of its pods. Nothing is asked
 * before the first pass that is over, or the first one after a completion by somebody else.
 */
export class RunningPods {
  readonly #dependencies: RunningPodsDependencies;
  /** Since when pods run in spite of the end of the drain. */
  #from: Moment | undefined;
  /** Since when the runtime has not answered after a completion by somebody else, on the monotonic clock. */
  #unseenFrom: number | undefined;
  readonly #warnUnseen: LogOnce;
  readonly #warnRunning: LogOnce;

  constructor(dependencies: RunningPodsDependencies) {
    const { log } = dependencies;
    this.#dependencies = dependencies;
    const unseen =
      'the container runtime does not tell which pods run; the machine is let go by what the API server says';
    this.#warnUnseen = createWarnOnce(log, unseen);
    this.#warnRunning = createLogOnce((pods) => {
      log.warn(
        { pods },
        'the cluster says that the drain of this node is over, and these pods still run; waiting for them',
      );
    });
  }

  /**
   * The pass as it is, while it is not over or nothing runs any more; else one that waits for what runs, for two minutes at
   * most. A runtime that does not answer holds nothing up: then the API server's word counts.
   */
  async after(pass: DrainPass, phase: Phase, signal: AbortSignal): Promise<DrainPass> {
    if (!pass.drained || phase.kind !== 'draining') {
      this.#from = undefined;
      return pass;
    }
    const sight = await this.#look(pass, phase.since, signal);
    this.#warnUnseen(sight.kind === 'unseen' ? sight.reason : undefined);
    const names = sight.kind === 'seen' ? sight.names : [];
    this.#warnRunning(names.length === 0 ? undefined : names.join(', '));
    if (names.length === 0) return pass;
    const now = momentOf(this.#dependencies.clock);
    this.#from ??= now;
    const isOver = now.monotonic - this.#from.monotonic >= LONGEST_RUNNING_MS;
    if (isOver || now.wall >= (phase.deadline?.at ?? Infinity)) {
      return { ...pass, left: [pass.left, leftRunning(names)].filter((each) => each !== undefined).join('; ') };
    }
    const although = 'the API server says that the pods of this node have left';
    return waitingFor(pass, names, phase, { since: asOfNow(this.#from, now), although });
  }

  /**
   * The same after somebody has completed the NodeMaintenance: every pass is looked at, and says what runs; the phase machine
   * counts the two minutes. The runtime has ten seconds to answer.
   */
  async afterCompletion(pass: DrainPass, phase: Alone, signal: AbortSignal): Promise<DrainPass> {
    const { sinceBootMs } = phase.completed;
    const now = momentOf(this.#dependencies.clock);
    const sight = await this.#look(pass, phase.since, signal);
    if (sight.kind === 'unseen') {
      this.#unseenFrom = Math.max(this.#unseenFrom ?? now.monotonic, sinceBootMs);
      if (now.monotonic - this.#unseenFrom >= RESTARTED_MS) {
        return { ...pass, drained: true, left: leftUnknown(phase.maintenance, sight.reason) };
      }
      const what = 'the pods of this node';
      return stillOpen(pass, [{ wait: 'unseen-pods', what, on: 'container runtime', message: 'are not known' }]);
    }
    this.#unseenFrom = undefined;
    const { names } = sight;
    this.#warnRunning(names.length === 0 ? undefined : names.join(', '));
    if (names.length === 0) return { ...pass, running: names };
    const since = now.wall - (now.monotonic - sinceBootMs);
    const although = 'somebody has completed the NodeMaintenance';
    return { ...waitingFor(pass, names, phase, { since, although }), running: names };
  }

  async #look(pass: DrainPass, shutdownSince: number, signal: AbortSignal): Promise<Sight> {
    // A machine that waited for its turn has run pods like any other until then.
    const since = Math.max(shutdownSince, pass.downSince ?? shutdownSince) + COPIES_MS;
    // Where something stays that cannot leave, static pods are named already.
    const sources: readonly PodSource[] = pass.left === undefined ? ['api', 'file'] : ['api'];
    try {
      return { kind: 'seen', names: runningPods(await this.#dependencies.runtime.livePods(signal), sources, since) };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unseen', reason: describeError(error) };
    }
  }
}
