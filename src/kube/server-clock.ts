import type { Clock } from '../host/clock.ts';
import type { KubeClient } from './client.ts';

/** The Date header has whole seconds: a smaller difference is none. */
const TOLERATED_MS = 2_000;

/** The API server's time, learned from its answers. */
interface ServerClock {
  /**
   * Its wall time is the API server's, and this machine's where both agree. All that write times into the cluster agree on
   * that time even where the clock of one machine is wrong or is set: a time is credible, and a deadline has passed, by the
   * API server's clock. Durations (`monotonic`, `sleep`) are those of this machine.
   */
  readonly clock: Clock;
  /** How far the API server's clock is ahead of this machine's, in milliseconds; 0 where both agree, and before the first answer. */
  readonly aheadMs: () => number;
  /** The client, which notes the time in each answer. */
  readonly noting: (client: KubeClient) => KubeClient;
}

/** Creates the clock; until the first answer its wall time is this machine's. */
export function createServerClock(clock: Clock): ServerClock {
  // The wall time is kept as the distance to the monotonic clock: a wall clock that is set must not show before the next answer.
  let offsetMs = clock.now() - clock.monotonic();
  /** `date` was written between the start of the request and now, by the API server's clock. */
  const note = (date: unknown, startedAt: number): void => {
    const at = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(at)) return;
    const middle = at + 500;
    const ends = clock.monotonic();
    const ownOffset = clock.now() - ends;
    const ahead = middle - (ends + ownOffset);
    const behind = startedAt + ownOffset - middle;
    if (ahead > TOLERATED_MS) offsetMs = middle - ends;
    else if (behind > TOLERATED_MS) offsetMs = middle - startedAt;
    else offsetMs = ownOffset;
  };
  const now = (): number => clock.monotonic() + offsetMs;
  return {
    clock: { ...clock, now },
    aheadMs: () => {
      const ahead = now() - clock.now();
      return Math.abs(ahead) <= TOLERATED_MS ? 0 : ahead;
    },
    noting: (client) => ({
      ...client,
      send: async (request, signal) => {
        const startedAt = clock.monotonic();
        const response = await client.send(request, signal);
        note(response.headers['date'], startedAt);
        return response;
      },
    }),
  };
}

/** The client and the clock of what has one client. */
export function withServerClock(
  client: KubeClient,
  clock: Clock,
): { readonly client: KubeClient; readonly clock: Clock } {
  const server = createServerClock(clock);
  return { client: server.noting(client), clock: server.clock };
}
