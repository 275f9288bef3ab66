import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeletUnit } from '../../../host/kubelet/unit.ts';
import type { Log } from '../../../telemetry/log.ts';

/** The kubelet, which would start again what is stopped over the runtime. */
interface KubeletStop {
  /** Whether the kubelet is stopped; where it cannot be, a pod that is would only come back. */
  stop(signal: AbortSignal): Promise<boolean>;
  /** Why it cannot be stopped, as the last attempt found; undefined where it can. */
  refusal(): string | undefined;
  /** Whether stopping it has failed so often and for so long that it is not tried any more. */
  hasGivenUp(): boolean;
}

/** After this many failed attempts only static pods are drained: they need the kubelet running. */
const MAX_REFUSALS = 3;
/** But not before this time is over: systemd, or its bus, may be away for some seconds. */
const LONGEST_MS = 30_000;

/** Creates it; nothing is stopped before the first call. */
export function createKubeletStop(
  kubelet: Pick<KubeletUnit, 'stop'>,
  clock: Pick<Clock, 'monotonic'>,
  log: Pick<Log, 'error'>,
): KubeletStop {
  let refused: { readonly reason: string; readonly times: number; readonly since: number } | undefined;
  let hasGivenUp = false;

  const refuse = (error: unknown): void => {
    const now = clock.monotonic();
    const { times = 0, since = now } = refused ?? {};
    const reason = describeError(error);
    // The configuration, or the way in which the kubelet runs, does not change while the machine goes down.
    const isFinal = error instanceof NodemaintError && error.code === 'CONFIG_INVALID';
    hasGivenUp = times + 1 >= MAX_REFUSALS && (isFinal || now - since >= LONGEST_MS);
    if (hasGivenUp || reason !== refused?.reason) {
      log.error({ reason, givenUp: hasGivenUp }, 'cannot stop the kubelet for the drain');
    }
    refused = { reason, times: times + 1, since };
  };

  return {
    hasGivenUp: () => hasGivenUp,
    refusal: () => refused?.reason,
    stop: async (signal) => {
      if (hasGivenUp) return false;
      try {
        await kubelet.stop(signal);
        refused = undefined;
        return true;
      } catch (error) {
        signal.throwIfAborted();
        refuse(error);
        return false;
      }
    },
  };
}
