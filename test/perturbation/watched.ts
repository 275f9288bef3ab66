import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/api/meta.ts';
import { keyOf } from '../../src/kube/resource.ts';
import type { Trace } from './trace.ts';

/** An event of a watch, as the API server sends it. */
export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** The objects of a resource at one version. */
interface State {
  readonly version: string;
  readonly objects: ReadonlyMap<string, KubeObject>;
}

/** For how long an event is held at most: the program may have nothing to write before it sees the event. */
const HOLD_MS = 1_000;
/** A list from the past is from before so many events; the first list where there were fewer. */
const BACK = 3;
const GONE = { type: 'ERROR', object: { code: 410 } };

/** What a program knows of one resource: how it was at each event, so that it can be shown the past. */
export class Watched {
  readonly #resource: string;
  readonly #trace: Trace;
  #states: State[] = [];
  /** The answer of the next list, where it is to be one from the past. */
  #past: State | undefined;
  /** Whether the next watch, which begins in the past, stands still at first. */
  #isBehind = false;

  constructor(resource: string, trace: Trace) {
    this.#resource = resource;
    this.#trace = trace;
  }

  /** The list from the past that is to be answered next, as the body of an answer. */
  takePast(): object | undefined {
    const past = this.#past;
    if (past === undefined) return undefined;
    this.#past = undefined;
    this.#isBehind = true;
    this.#states = [past];
    return { metadata: { resourceVersion: past.version }, items: [...past.objects.values()] };
  }

  /** Notes a whole list that the API server has answered. */
  listed(version: string, items: readonly KubeObject[]): void {
    this.#states = [{ version, objects: new Map(items.map((item) => [keyOf(item), item])) }];
  }

  /** The events as the program gets them; `source` is the watch on the API server. */
  async *perturbed(source: AsyncIterable<unknown>): AsyncGenerator {
    if (this.#isBehind) {
      this.#isBehind = false;
      await this.#hold();
    }
    const events = new Pending(source);
    try {
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        const fate = isAboutObject(event) ? this.#trace.event(this.#resource, event.object) : undefined;
        if (fate === 'list from the past') this.#past = this.#states.at(-1 - BACK) ?? this.#states[0];
        if (fate === 'list from the past' || fate === 'told by a list') {
          yield GONE;
          return;
        }
        if (fate === 'held') await this.#hold();
        const told = fate === 'skipped' ? await this.#skip(event, events) : [event];
        for (const each of told) {
          this.#note(each);
          yield each;
        }
      }
    } finally {
      await events.close();
    }
  }

  async #hold(): Promise<void> {
    await this.#trace.nextWrite(HOLD_MS);
  }

  /** Waits for a later event of the same object; what the program gets then, or gets late where there is none. */
  async #skip(skipped: WatchEvent, events: Pending): Promise<readonly WatchEvent[]> {
    const between: WatchEvent[] = [];
    const late = sleep(HOLD_MS, 'late' as const);
    for (;;) {
      const event = await events.nextBefore(late);
      if (event === 'late' || event === undefined) return [skipped, ...between];
      if (isAboutObject(event)) this.#trace.event(this.#resource, event.object);
      if (!isAboutObject(event) || keyOf(event.object) !== keyOf(skipped.object)) {
        between.push(event);
        continue;
      }
      // Nobody ever learns of an object that came and went between two lists.
      if (skipped.type === 'ADDED' && event.type === 'DELETED') return between;
      return [...between, event];
    }
  }

  #note({ type, object }: WatchEvent): void {
    const last = this.#states.at(-1);
    const version = object.metadata.resourceVersion;
    if (last === undefined || version === undefined) return;
    const objects = new Map(last.objects);
    if (type === 'DELETED') objects.delete(keyOf(object));
    else if (type !== 'BOOKMARK') objects.set(keyOf(object), object);
    this.#states.push({ version, objects });
  }
}

function isAboutObject({ type }: WatchEvent): boolean {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED';
}

/** Events of a watch that can be waited for in part: one that has not come in time is the next one again. */
class Pending {
  readonly #iterator: AsyncIterator<unknown>;
  #next: Promise<WatchEvent | undefined> | undefined;

  constructor(source: AsyncIterable<unknown>) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** The next event; undefined where the watch has ended. */
  async next(): Promise<WatchEvent | undefined> {
    return await this.#taken(this.#ask());
  }

  /** The next event, or what `limit` resolves to where that is sooner. */
  async nextBefore<T>(limit: Promise<T>): Promise<WatchEvent | undefined | T> {
    const next = this.#ask();
    const first = await Promise.race([next.then(() => true), limit.then(() => false)]);
    return first ? await this.#taken(next) : await limit;
  }

  async close(): Promise<void> {
    this.#next?.catch(() => undefined);
    await this.#iterator.return?.();
  }

  #ask(): Promise<WatchEvent | undefined> {
    this.#next ??= this.#iterator.next().then((got) => (got.done === true ? undefined : (got.value as WatchEvent)));
    return this.#next;
  }

  async #taken(next: Promise<WatchEvent | undefined>): Promise<WatchEvent | undefined> {
    const event = await next;
    this.#next = undefined;
    return event;
  }
}
