import { NodemaintError } from '../../errors.ts';
import { type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';

/** The time for which a controller leads: from the write that made it the leader to the loss of the Lease. */
export interface Term {
  /** Aborted with LEASE_LOST when the term is over, and not when the controller is only asked to stop. */
  readonly signal: AbortSignal;
  /** Milliseconds for which the leader may still write; renewing the Lease makes it more again. */
  remainingMs(): number;
  /** Notes that the Lease was renewed by a call that began at this moment. */
  renewed(begun: Moment): void;
  /** Ends the term. */
  lose(why: string): void;
  /** The client of the leader: it reads at any time, and writes nothing after the end of the term. */
  fence(client: KubeClient): KubeClient;
}

/** Begins a term with the call that began at `begun`; without renewal the leader stops writing `deadlineMs` after it. */
export function createTerm(begun: Moment, deadlineMs: number, clock: Clock): Term {
  const ending = new AbortController();
  let last = begun;
  const remainingMs = (): number => {
    if (ending.signal.aborted) return 0;
    const now = momentOf(clock);
    // The monotonic clock stands still in a sleeping machine, whose Lease expires meanwhile: the longer time counts. The
    // other clock may be set ahead, which costs nothing but taking the Lease again.
    return deadlineMs - Math.max(now.monotonic - last.monotonic, now.wall - last.wall);
  };
  const lose = (why: string): void => {
    ending.abort(new NodemaintError('LEASE_LOST', `this controller does not lead any more: ${why}`));
  };
  return {
    signal: ending.signal,
    remainingMs,
    renewed: (moment) => {
      last = moment;
    },
    lose,
    fence: (client) => ({
      ...client,
      send: async (request, signal) => {
        if (request.method === 'GET') return await client.send(request, signal);
        // Looked up at each call: a process that stood still does not run its timers in time.
        if (remainingMs() <= 0) lose('the Lease was not renewed in time');
        ending.signal.throwIfAborted();
        return await client.send(request, AbortSignal.any([signal, ending.signal]));
      },
    }),
  };
}

/** The term of a controller that runs without a Lease: it has no end, and its client no fence. */
export function createEndlessTerm(): Term {
  return {
    signal: new AbortController().signal,
    remainingMs: () => Number.POSITIVE_INFINITY,
    renewed: () => undefined,
    lose: () => undefined,
    fence: (client) => client,
  };
}
