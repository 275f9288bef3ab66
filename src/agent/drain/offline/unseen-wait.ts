import { LONGEST_UNSEEN_MS, leftUnseen } from '../../../decide/shutdown/offline-view.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../../host/clock.ts';
import { type DrainPass, EMPTY_PASS } from '../drainer.ts';

/** How an offline drain waits while it does not know the pods of the node. */
interface UnseenWait {
  /**
   * The pass of a moment at which they cannot be seen: no pod leaves by it, and the drain is over only where the wait has
   * lasted too long.
   */
  pass(reason: string): DrainPass;
  /** The pods were seen: the wait is over. */
  end(): void;
}

/** Waits from the first pass on. */
export function createUnseenWait(clock: Clock): UnseenWait {
  let from: Moment | undefined;
  return {
    pass: (reason) => {
      const now = momentOf(clock);
      from ??= now;
      const left = leftUnseen(reason, now.monotonic - from.monotonic);
      const since = asOfNow(from, now);
      const message = `are not known: ${reason}`;
      const expectedAt = since + LONGEST_UNSEEN_MS;
      return {
        ...EMPTY_PASS,
        drained: left !== undefined,
        ...(left === undefined ? {} : { left }),
        waiting: [{ what: 'the pods of this node', on: 'container runtime', message, since, expectedAt }],
      };
    },
    end: () => {
      from = undefined;
    },
  };
}
