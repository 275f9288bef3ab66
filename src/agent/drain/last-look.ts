import { leftRunning, LONGEST_RUNNING_MS, type PodSource, runningPods } from '../../decide/shutdown/running-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { DrainPass } from './drainer.ts';

/** The look at the container runtime before the machine is let go by what the API server says of its pods. */
export interface LastLook {
  /**
   * The pass as it is, while it is not over or nothing runs any more; else one that waits for what runs, for two minutes at
   * most. A runtime that does not answer holds nothing up: then the API server's word counts.
   */
  after(pass: DrainPass, phase: Phase, signal: AbortSignal): Promise<DrainPass>;
}

export interface LastLookDependencies {
  readonly runtime: Pick<ContainerRuntime, 'livePods'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Asks nothing before the first pass that is over. */
export function createLastLook({ runtime, clock, log }: LastLookDependencies): LastLook {
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

  const look = async (
    sources: readonly PodSource[],
    since: number,
    signal: AbortSignal,
  ): Promise<readonly string[]> => {
    try {
      const names = runningPods(await runtime.livePods(signal), sources, since);
      warnUnseen(undefined);
      return names;
    } catch (error) {
      signal.throwIfAborted();
      warnUnseen(describeError(error));
      return [];
    }
  };

  return {
    after: async (pass, phase, signal) => {
      if (!pass.drained || phase.kind !== 'draining') {
        from = undefined;
        return pass;
      }
      // Where something stays that cannot leave, static pods are named already.
      const names = await look(pass.left === undefined ? ['api', 'file'] : ['api'], phase.since, signal);
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
      const waiting = names.map((what) => ({ what, on: 'container runtime', message, since, expectedAt }));
      const { left: _left, ...open } = pass;
      return { ...open, drained: false, waiting: [...pass.waiting, ...waiting] };
    },
  };
}
