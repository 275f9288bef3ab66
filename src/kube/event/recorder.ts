import { randomBytes } from 'node:crypto';
import { rfc3339 } from '../../decide/time.ts';
import { describeError } from '../../errors.ts';
import { type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { eventBody, type EventSubject, type EventText, eventName, namespaceOf } from './text.ts';
import { type Reconcile, WorkQueue } from '../queue.ts';
import { EVENTS, collectionPath, objectPath } from '../resource.ts';
import { sendForObject } from '../request.ts';

/** How many Events one object may have within a minute; further ones are left out. */
const MAX_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/** Counts the Events of each object by the minute. */
class EventRate {
  /** How many Events each object had since this minute of the monotonic clock began. */
  readonly #counts = new Map<string, number>();
  #minute = -1;

  /** Counts one more Event of the object. Says whether there is room for it, and whether it is the first without. */
  count(object: string, now: number): 'room' | 'first-left-out' | 'left-out' {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(object) ?? 0) + 1;
    this.#counts.set(object, count);
    if (count <= MAX_PER_MINUTE) return 'room';
    return count === MAX_PER_MINUTE + 1 ? 'first-left-out' : 'left-out';
  }
}

/** Writes v1 Events; a repeated event is one Event with a count. */
export interface EventRecorder {
  /** Records an event, which `run` writes; never waits, never fails. */
  record(subject: EventSubject, text: EventText): void;
  /** Writes what was recorded until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface EventRecorderDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

interface RecordedEvent {
  readonly subject: EventSubject;
  readonly text: EventText;
  /** In milliseconds since the epoch. */
  readonly firstAt: number;
  lastAt: Moment;
  count: number;
  /** The name of the Event, which nobody can foresee: every node may create Events, and could take it for another content. */
  name: string;
  /** The count that the API server has, 0 before the first write. */
  written: number;
  /** When it was written last, on the monotonic clock. */
  writtenAt: number;
}

/** After a write, the repetitions of this long are written together. */
const REPEAT_MS = 5 * 60_000;
/** An event that was not repeated for this long is not counted any more; API servers delete Events after an hour too. */
const FORGET_MS = 60 * 60_000;
/** When this many events are recorded, the one that was not repeated for the longest time is forgotten for each new one. */
const MAX_RECORDED = 10_000;
/** What an Event says of its object: the whole object, with its status, would be kept for as long as the Event is remembered. */
function identityOf({ apiVersion, kind, metadata: { name, namespace, uid } }: EventSubject): EventSubject {
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
  };
}

/** What is the same for repetitions of an event. */
function keyOf({ kind, metadata: { namespace, name, uid } }: EventSubject, { reason, message }: EventText): string {
  return [kind, namespace, name, uid, reason, message].join('\n');
}

function newName(subject: EventSubject): string {
  return eventName(subject, randomBytes(8).toString('hex'));
}

class CountingEventRecorder implements EventRecorder {
  readonly #component: string;
  readonly #dependencies: EventRecorderDependencies;
  /**
   * The events by their content, in the order in which they were last recorded. Those that are an hour old are forgotten when
   * another one is recorded: a timer for each would be one for every drain of the last hour.
   */
  readonly #recorded = new Map<string, RecordedEvent>();
  readonly #queue: WorkQueue;
  readonly #rate = new EventRate();

  constructor(component: string, dependencies: EventRecorderDependencies) {
    this.#component = component;
    this.#dependencies = dependencies;
    this.#queue = new WorkQueue('events', this.#reconcile, 1, dependencies);
  }

  record(subject: EventSubject, text: EventText): void {
    const key = keyOf(subject, text);
    const now = momentOf(this.#dependencies.clock);
    this.#forgetOld(now.monotonic);
    const known = this.#recorded.get(key);
    if (known !== undefined) {
      this.#repeat(key, known, now);
      return;
    }
    const object = `${subject.kind} ${namespaceOf(subject)}/${subject.metadata.name}`;
    const room = this.#rate.count(object, now.monotonic);
    if (room === 'first-left-out') this.#dependencies.log.warn({ object }, 'Events of an object are left out');
    if (room !== 'room') return;
    if (this.#recorded.size >= MAX_RECORDED) this.#recorded.delete(this.#recorded.keys().next().value ?? '');
    const times = { firstAt: now.wall, lastAt: now, writtenAt: now.monotonic };
    this.#recorded.set(key, {
      subject: identityOf(subject),
      text,
      name: newName(subject),
      ...times,
      count: 1,
      written: 0,
    });
    this.#queue.add(key);
  }

  /** Counts an event that is known, and has it written once no write of it was made for a while. */
  #repeat(key: string, known: RecordedEvent, now: Moment): void {
    known.count += 1;
    known.lastAt = now;
    this.#recorded.delete(key);
    this.#recorded.set(key, known);
    // The first write, if it is still to come, says itself when the next one is due.
    if (known.written > 0) this.#queue.addAfter(key, known.writtenAt + REPEAT_MS - now.monotonic);
  }

  /** By the monotonic clock: the wall clock may be set. */
  #forgetOld(now: number): void {
    for (const [key, { lastAt }] of this.#recorded) {
      if (now - lastAt.monotonic < FORGET_MS) return;
      this.#recorded.delete(key);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(signal);
  }

  /** Writes an event that was recorded since it was last written. */
  readonly #reconcile: Reconcile = async (key, signal) => {
    const { clock, log } = this.#dependencies;
    const event = this.#recorded.get(key);
    if (event === undefined || event.count === event.written) return {};
    try {
      await this.#write(event, signal);
    } catch (error) {
      signal.throwIfAborted();
      // An event that cannot be written is not tried for ever: the log has it too.
      event.written = event.count;
      log.warn({ event: event.name, reason: describeError(error) }, 'event not written');
    }
    event.writtenAt = clock.monotonic();
    return event.count === event.written ? {} : { againMs: REPEAT_MS };
  };

  async #write(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { count } = event;
    if (event.written === 0 || !(await this.#increaseCount(event, signal))) await this.#create(event, signal);
    event.written = count;
  }

  async #create(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const path = collectionPath(EVENTS, namespaceOf(event.subject));
    const { name, count, firstAt, lastAt } = event;
    const body = eventBody(name, event, { count, firstAt, lastAt: lastAt.wall }, this.#component);
    const create = { method: 'POST', path, body, patient: true } as const;
    // 404: the namespace does not exist; 403: it is being deleted.
    await sendForObject(this.#dependencies.client, create, [404, 403], signal);
  }

  /** Increases the count of the stored Event; returns false where it is not there any more. */
  async #increaseCount({ subject, name, count, lastAt }: RecordedEvent, signal: AbortSignal): Promise<boolean> {
    const path = objectPath(EVENTS, { name, namespace: namespaceOf(subject) });
    const body = { count, lastTimestamp: rfc3339(lastAt.wall) };
    const update = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    return (await sendForObject(this.#dependencies.client, update, [404], signal)) !== undefined;
  }
}

/** Creates a recorder; `component` is the source of the Events that it writes. */
export function createEventRecorder(component: string, dependencies: EventRecorderDependencies): EventRecorder {
  return new CountingEventRecorder(component, dependencies);
}
