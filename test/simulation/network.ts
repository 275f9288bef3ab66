/** The way between programs and the model of the API server: every request, answer and event takes a time that the seed draws. */
import { NodemaintError } from '../../src/errors.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { Random } from '../chaos/random.ts';
import type { ModelServer } from './api-server/server.ts';
import { type ModelKind, placeOf } from './api-server/kinds.ts';
import type { VirtualTime } from './time.ts';

/** Told of each request that the API server has answered. */
export type OnAnswer = (program: string, request: KubeRequest, response: KubeResponse) => void;

/** A program and its client. */
export interface Connection {
  readonly client: KubeClient;
  /** Ends the program as SIGKILL does: nothing that it has begun arrives any more, and nothing reaches it. */
  kill(): void;
  /** Ends it at the write so many writes from now: before that arrives, or when it has, without its answer. */
  killAtWrite(writes: number, arrives: boolean): void;
  /** Cuts it off the API server for so long: its watches end, its requests get no answer. */
  cutOff(ms: number): void;
}

/** A bookmark comes so often where nothing else does. */
const BOOKMARK_MS = 60_000;
/** Requests in vain: some fail at once, some after a while. */
const REFUSED_MS = 20;

function unreachable(what: string): NodemaintError {
  return new NodemaintError('API_UNREACHABLE', `no answer to ${what}`);
}

/** The way of one program. */
class Way implements Connection {
  readonly #network: Network;
  readonly #program: string;
  readonly client: KubeClient;
  #isDead = false;
  #cutUntil = -Infinity;
  #writesLeft = Infinity;
  #lastArrives = false;
  /** Ends the waiting of each open watch. */
  readonly #watches = new Set<() => void>();

  constructor(network: Network, program: string) {
    this.#network = network;
    this.#program = program;
    this.client = {
      send: (request, signal) => this.#send(request, signal),
      watch: (path, signal) => this.#watch(path, signal),
      close: () => undefined,
    };
  }

  kill(): void {
    this.#isDead = true;
  }

  killAtWrite(writes: number, arrives: boolean): void {
    this.#writesLeft = writes;
    this.#lastArrives = arrives;
  }

  cutOff(ms: number): void {
    const { time } = this.#network;
    this.#cutUntil = Math.max(this.#cutUntil, time.now() + ms);
    for (const wake of this.#watches) wake();
  }

  #isCut(): boolean {
    return this.#network.time.now() < this.#cutUntil || this.#network.isAway(this.#program);
  }

  #send(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> {
    const { time, server, onAnswer } = this.#network;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        if (!this.#isDead) reject(signal.reason as Error);
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      const fail = (): void => {
        if (!this.#isDead) reject(unreachable(`${request.method} ${request.path}`));
      };
      const arrive = (): void => {
        if (this.#isDead) return;
        if (this.#isCut()) {
          time.after(REFUSED_MS, fail);
          return;
        }
        if (this.#diesBefore(request)) return;
        const response = server.handle(request, this.#program);
        onAnswer(this.#program, request, response);
        time.after(this.#network.latencyMs(), () => {
          if (this.#isDead) return;
          signal.removeEventListener('abort', onAbort);
          if (this.#isCut()) fail();
          else resolve(response);
        });
      };
      time.after(this.#network.latencyMs(), arrive);
    });
  }

  /** Counts a write; whether the program ends before it arrives. */
  #diesBefore({ method }: KubeRequest): boolean {
    if (method === 'GET') return false;
    this.#writesLeft -= 1;
    if (this.#writesLeft > 0) return false;
    this.#isDead = true;
    return !this.#lastArrives;
  }

  async *#watch(path: string, signal: AbortSignal): AsyncGenerator {
    const { time, server } = this.#network;
    const begun = time.now();
    await time.sleep(this.#network.latencyMs(), signal);
    if (this.#isCut()) throw unreachable(`GET ${path}`);
    const watching = server.watch(path);
    let bookmarkAt = begun + BOOKMARK_MS;
    while (!signal.aborted) {
      if (this.#isDead) await new Promise(() => undefined);
      if (this.#cutUntil > begun || this.#network.isAway(this.#program)) throw unreachable(`GET ${path}`);
      const next = watching.next();
      if (next !== undefined) {
        // One event comes after the other, each some time after its change.
        await time.sleep(Math.max(0, next.at + this.#network.eventLagMs() - time.now()), signal);
        if (!this.#isDead) yield next.event;
        bookmarkAt = time.now() + BOOKMARK_MS;
      } else if (time.now() >= bookmarkAt) {
        yield watching.bookmark();
        bookmarkAt = time.now() + BOOKMARK_MS;
      } else await this.#untilMore(placeOf(path.split('?')[0] ?? '')?.kind, bookmarkAt - time.now(), signal);
    }
    signal.throwIfAborted();
  }

  /** Waits for a change, for the time of a bookmark, or for the end of the watch. */
  async #untilMore(kind: ModelKind | undefined, ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const over = (): void => {
        stop();
        this.#watches.delete(over);
        this.#network.waiting.delete(over);
        signal.removeEventListener('abort', over);
        resolve();
      };
      const stop = this.#network.time.after(ms, over);
      this.#watches.add(over);
      this.#network.waiting.set(over, kind);
      signal.addEventListener('abort', over, { once: true });
    });
  }
}

/** All ways to one API server. */
export class Network {
  readonly time: VirtualTime;
  readonly server: ModelServer;
  readonly onAnswer: OnAnswer;
  readonly #random: Random;
  /** Whether no API server answers a program now; `breakWatches` tells those that watch when that begins. */
  isAway: (program: string) => boolean = () => false;
  /** The watches that wait for a change. */
  readonly waiting = new Map<() => void, ModelKind | undefined>();
  /** How many changes the watches were told of. */
  #told = 0;

  constructor(time: VirtualTime, server: ModelServer, random: Random, onAnswer: OnAnswer) {
    this.time = time;
    this.server = server;
    this.#random = random;
    this.onAnswer = (program, request, response) => {
      onAnswer(program, request, response);
      this.changed();
    };
  }

  /** Tells the watches that something may have changed. */
  changed(): void {
    const { changes } = this.server.objects;
    const kinds = new Set(changes.slice(this.#told).map(({ kind }) => kind));
    this.#told = changes.length;
    for (const [wake, kind] of this.waiting) if (kind === undefined || kinds.has(kind)) wake();
  }

  /** Lets every watch look whether it has ended. */
  breakWatches(): void {
    for (const wake of this.waiting.keys()) wake();
  }

  /** Mostly some milliseconds, sometimes much longer. */
  latencyMs(): number {
    return this.#random.whole(20) === 0 ? this.#random.whole(400) : 1 + this.#random.whole(15);
  }

  /** An event may be held back for longer than a few writes of its reader take. */
  eventLagMs(): number {
    return this.#random.whole(15) === 0 ? this.#random.whole(900) : 1 + this.#random.whole(30);
  }

  connect(program: string): Connection {
    return new Way(this, program);
  }
}
