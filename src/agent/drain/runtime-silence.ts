import { LONGEST_UNSEEN_MS, leftUnseen } from '../../decide/shutdown/unseen-pods.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { Waiting } from '../../decide/node/waits.ts';

/** How a drain waits while it does not know the pods of the node, because its container runtime does not tell. */
export class RuntimeSilence {
  readonly #clock: Clock;
  readonly #startRuntime: () => void;
  #from: Moment | undefined;

  /** Waits from the first time on, and then starts the runtime once. */
  constructor(clock: Clock, startRuntime: () => void = () => undefined) {
    this.#clock = clock;
    this.#startRuntime = startRuntime;
  }

  /** Whether the runtime was silent when it was asked last, by whichever drain. */
  get isOpen(): boolean {
    return this.#from !== undefined;
  }

  /** The pods cannot be seen now: what is waited for, or why they are left. */
  unseen(reason: string): { readonly left?: string; readonly waiting: Waiting } {
    const now = momentOf(this.#clock);
    if (this.#from === undefined) this.#startRuntime();
    this.#from ??= now;
    const left = leftUnseen(reason, now.monotonic - this.#from.monotonic);
    const since = asOfNow(this.#from, now);
    const times = { since, expectedAt: since + LONGEST_UNSEEN_MS };
    const [what, on, message] = ['the pods of this node', 'container runtime', `are not known: ${reason}`];
    return { ...(left === undefined ? {} : { left }), waiting: { wait: 'unseen-pods', what, on, message, ...times } };
  }

  /** They were seen: the wait is over. */
  end(): void {
    this.#from = undefined;
  }
}
