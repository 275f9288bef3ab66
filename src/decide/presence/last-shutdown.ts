/** How the last shutdown of a node ended, for those who look after the boot: the agent that knew it is gone by then. */
import type { Transition } from '../shutdown/transition.ts';

/** What can become of a shutdown. */
export const SHUTDOWN_RESULTS = ['drained', 'forced', 'undrained', 'canceled'] as const;

/**
 * `drained`: every pod had left. `forced`: the machine was let go with pods left. `undrained`: it went down although the
 * shutdown was held. `canceled`: it stayed up.
 */
export type ShutdownResult = (typeof SHUTDOWN_RESULTS)[number];

export interface LastShutdown {
  readonly result: ShutdownResult;
  /** When the machine was let go, the shutdown was called off, or the machine was back: the latest that is known. */
  readonly at: number;
}

/** What is known of the last shutdown after a transition at `now`, in milliseconds since the epoch. */
export function lastShutdownAfter(
  last: LastShutdown | undefined,
  { name, from }: Pick<Transition, 'name' | 'from'>,
  now: number,
): LastShutdown | undefined {
  switch (name) {
    case 'finish':
      return { result: 'drained', at: now };
    case 'force':
      return { result: 'forced', at: now };
    case 'cancel':
      return { result: 'canceled', at: now };
    case 'boot': {
      const released = from.kind === 'released' && from.forced !== undefined ? 'forced' : 'drained';
      return { result: from.kind === 'draining' ? 'undrained' : released, at: now };
    }
    case 'begin':
    case 'tighten':
    case 'specify':
    case 'relax':
    case 'rename':
    case 'loseCluster':
    case 'handOver':
    case 'settle':
      return last;
  }
}
