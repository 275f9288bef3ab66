import { LONGEST_UNSEEN_MS, leftUnseen } from '../../decide/shutdown/offline-view.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { Waiting } from '../../decide/node/waits.ts';

/** What a drain is told while the pods of the node cannot be seen. */
interface Unseen {
  /** Why nobody waits for them any more; absent while they are waited for. */
  readonly left?: string;
  readonly waiting: Waiting;
}

/** How a drain waits while it does not know the pods of the node, because its container runtime does not tell. */
export interface RuntimeSilence {
  /** They cannot be seen now. */
  unseen(reason: string): Unseen;
  /** The pods were seen: the wait is over. */
  end(): void;
}

/** Waits from the first time on, and then starts the runtime once. */
export function createRuntimeSilence(clock: Clock, startRuntime: () => void = () => undefined): RuntimeSilence {
  let from: Moment | undefined;
  return {
    unseen: (reason) => {
      const now = momentOf(clock);
      if (from === undefined) startRuntime();
      from ??= now;
      const left = leftUnseen(reason, now.monotonic - from.monotonic);
      const since = asOfNow(from, now);
      const message = `are not known: ${reason}`;
      const expectedAt = since + LONGEST_UNSEEN_MS;
      return {
        ...(left === undefined ? {} : { left }),
        waiting: {
          wait: 'unseen-pods',
          what: 'the pods of this node',
          on: 'container runtime',
          message,
          since,
          expectedAt,
        },
      };
    },
    end: () => {
      from = undefined;
    },
  };
}
