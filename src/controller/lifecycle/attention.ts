import type { Eviction, LifecycleRequest } from '../../api/lifecycle.ts';
import { awaitedBy, isObserved, unattendedInMs } from '../../decide/lifecycle/missing-controllers.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** After nobody has worked on one request, further pods are asked in the older dialect for this time. */
const AVOID_MS = 10 * 60_000;

/** Whether the controllers of `lifecycle.k8s.io` work on the requests of drains, as far as this process has seen. */
interface Attention {
  /**
   * In how many milliseconds it is clear that nobody works on the request of this key, unless somebody acts; 0 where it is
   * clear: then it stays so until a controller has looked at the request.
   */
  inMs(key: string, request: LifecycleRequest, eviction: Eviction | undefined): number;
  /** Whether nobody has worked on a request lately. */
  isMissing(): boolean;
  forget(key: string): void;
}

/** Creates the memory of one term. */
export function createAttention({ clock, log }: { readonly clock: Clock; readonly log: Log }): Attention {
  /** Since when each request has waited for a controller, on the monotonic clock. */
  const waiting = new Map<string, number>();
  const left = new Set<string>();
  let missedAt: number | undefined;
  const isMissing = (): boolean => missedAt !== undefined && clock.monotonic() - missedAt < AVOID_MS;
  const waitedMs = (key: string, isWaiting: boolean): number => {
    if (!isWaiting) waiting.delete(key);
    else if (!waiting.has(key)) waiting.set(key, clock.monotonic());
    return clock.monotonic() - (waiting.get(key) ?? clock.monotonic());
  };
  const forget = (key: string): void => {
    waiting.delete(key);
    left.delete(key);
  };
  return {
    isMissing,
    forget,
    inMs: (key, request, eviction) => {
      if (isObserved(request)) left.delete(key);
      const awaited = awaitedBy(request, eviction);
      const waited = waitedMs(key, awaited === 'controller' || awaited === 'next-eviction');
      const ms = unattendedInMs({ awaited, eviction, waitedMs: waited, now: clock.now() });
      if (ms > 0) return left.has(key) ? 0 : ms;
      left.add(key);
      if (!isMissing()) {
        log.warn({ pod: key }, 'no controller of lifecycle.k8s.io works on a request: drains ask in the older dialect');
      }
      missedAt = clock.monotonic();
      return 0;
    },
  };
}
