import type { KubeObject } from '../../api/meta.ts';
import type { NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { createObjectCache, type ObjectCache, type Transform, type WatchScope } from '../../kube/watch.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import { type FollowedConnection, createFollowedConnection, denialOf } from './connection.ts';

/** What following needs from outside. */
export interface FollowContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Says a sentence that is not about the followed objects, such as a lost connection: once, and again only after another one or none. */
  readonly say: (text: string) => void;
}

/** How following ended where nothing that is followed ended it. */
export type FollowStop = 'timeout' | 'interrupted';

/** The reason of a stop, as the beginning of a sentence. */
export const STOP_REASONS: Readonly<Record<FollowStop, string>> = {
  timeout: 'the --timeout is over',
  interrupted: 'interrupted',
};

/** What is followed, and for how long. */
interface Followed<Ending> {
  /** Looks at the copies and shows what is new; returns the ending where there is nothing more to wait for. */
  look(): Ending | undefined;
  /** A sentence for the person who follows; undefined where there is none. */
  note?(): string | undefined;
  /** Milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
}

const TICK_MS = 1_000;
/** Changes come in bursts; those that come within this time are shown together, in milliseconds. */
const BURST_MS = 50;

/** Keeps copies of objects current, and shows them until they have come to an end. It begins without copies. */
export class Follower {
  readonly #context: FollowContext;
  readonly #connection: FollowedConnection;
  readonly #copies: Pick<ObjectCache<KubeObject>, 'run' | 'synced'>[] = [];
  #denial: NodemaintError | undefined;
  #nap = new AbortController();

  constructor(context: FollowContext) {
    this.#context = context;
    this.#connection = createFollowedConnection(context.clock);
  }

  /** Adds a copy of a resource, before `run`. */
  copy<T extends KubeObject>(scope: WatchScope, transform?: Transform<T>): ObjectCache<T> {
    const { client, clock } = this.#context;
    const changed = (): void => {
      this.#nap.abort();
    };
    const copy = createObjectCache(scope, changed, { client, clock, log: this.#log() }, transform);
    this.#copies.push(copy);
    return copy;
  }

  /** Whether every copy is complete. */
  synced(): boolean {
    return this.#copies.every((copy) => copy.synced());
  }

  /**
   * Looks after each change and each second until `look` says how it ended, the time is over, or `stop` is aborted.
   * Throws API_REFUSED where the server denies one of the copies from the beginning.
   */
  async run<Ending>(followed: Followed<Ending>, stop: AbortSignal): Promise<Ending | FollowStop> {
    const lifetime = new AbortController();
    const copying = Promise.all(this.#copies.map((copy) => copy.run(lifetime.signal)));
    const wake = (): void => {
      this.#nap.abort();
    };
    stop.addEventListener('abort', wake, { once: true });
    try {
      return await this.#loop(followed, stop);
    } finally {
      stop.removeEventListener('abort', wake);
      lifetime.abort();
      await copying;
    }
  }

  /** The copies report to a log what they recover from. */
  #log(): Log {
    const onTrouble = (fields: object): void => {
      const { err, retryMs = 0 } = fields as { readonly err?: unknown; readonly retryMs?: number };
      // A denial of the first list is final; a later one may come from a server that is starting.
      if (!this.synced()) this.#denial ??= denialOf(err);
      this.#connection.failed(err, retryMs);
      this.#nap.abort();
    };
    return { debug: () => undefined, info: () => undefined, warn: onTrouble, error: onTrouble };
  }

  async #loop<Ending>(followed: Followed<Ending>, stop: AbortSignal): Promise<Ending | FollowStop> {
    const { clock, say } = this.#context;
    const note = createLogOnce(say);
    const { timeoutMs } = followed;
    const startedAt = clock.monotonic();
    for (;;) {
      this.#nap = new AbortController();
      if (this.#denial !== undefined) throw this.#denial;
      const ending = followed.look();
      note(this.#connection.note() ?? followed.note?.());
      if (ending !== undefined) return ending;
      if (stop.aborted) return 'interrupted';
      if (timeoutMs !== undefined && clock.monotonic() - startedAt >= timeoutMs) return 'timeout';
      await clock.sleep(TICK_MS, this.#nap.signal).catch(() => undefined);
      await clock.sleep(BURST_MS, stop).catch(() => undefined);
    }
  }
}
