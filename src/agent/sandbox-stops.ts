import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import type { Log } from '../telemetry/log.ts';

/** Stops of pods that are under way: the loop goes on meanwhile. */
export interface SandboxStops {
  /**
   * Begins to stop a pod within its grace period, unless that is done already and will not take longer. `subject` is what
   * the log calls it.
   */
  begin(subject: Readonly<Record<string, string>>, sandboxId: string, graceSec: number, signal: AbortSignal): void;
}

/** A stop that would end earlier by less is not worth another call. */
const SLACK_MS = 1_500;

/** Makes the stops; one that fails is begun again by who still sees the pod. */
export function createSandboxStops(
  runtime: ContainerRuntime,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): SandboxStops {
  const endings = new Map<string, number>();
  return {
    begin: (subject, sandboxId, graceSec, signal) => {
      const endsAt = clock.now() + graceSec * 1000;
      if (endsAt > (endings.get(sandboxId) ?? Infinity) - SLACK_MS) return;
      endings.set(sandboxId, endsAt);
      log.warn({ ...subject, sandbox: sandboxId, graceSec }, 'asking the runtime to stop the pod');
      runtime
        .stopPod(sandboxId, graceSec, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) log.error({ sandbox: sandboxId, reason: describeError(error) }, 'cannot stop the pod');
        })
        .finally(() => {
          if (endings.get(sandboxId) === endsAt) endings.delete(sandboxId);
        })
        .catch(() => undefined);
    },
  };
}
