import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';

/** The Date header has whole seconds, and an answer takes its time on the way: a smaller difference is none. */
const TOLERATED_MS = 2_000;

/**
 * A client that notes the time in each answer, and a clock that shows the API server's time: it refuses times of responders
 * that are more than 30 s away from its own.
 */
export function withServerClock(
  client: KubeClient,
  clock: Clock,
): { readonly client: KubeClient; readonly clock: Clock } {
  let aheadMs = 0;
  const note = (date: unknown): void => {
    const at = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(at)) return;
    const difference = at + 500 - clock.now();
    if (Math.abs(difference - aheadMs) > TOLERATED_MS) aheadMs = Math.abs(difference) > TOLERATED_MS ? difference : 0;
  };
  return {
    client: {
      ...client,
      send: async (request, signal) => {
        const response = await client.send(request, signal);
        note(response.headers['date']);
        return response;
      },
    },
    clock: { ...clock, now: () => clock.now() + aheadMs },
  };
}
