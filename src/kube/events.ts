import { createHash, randomBytes } from 'node:crypto';
import type { KubeObject } from '../api/meta.ts';
import { rfc3339 } from '../decide/time.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { createWorkQueue } from './queue.ts';
import { EVENTS, collectionPath, objectPath, sendForObject, statusMessage } from './resource.ts';

/** What an Event says. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** An object that events are about; the kind is needed, for lists do not tell it. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeObject['metadata'];
}

/** Writes v1 Events, the same one only once and counted. */
export interface EventRecorder {
  /** Notes an event; never waits, never fails. */
  record(subject: EventSubject, text: EventText): void;
  /** Writes what was noted until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface Noted {
  readonly subject: EventSubject;
  readonly text: EventText;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The name of the Event; another one if the name is taken by an Event of another program. */
  name: string;
  /** The count that the API server has. */
  written: number;
}

/** A repeated event is written at most once in this time. */
const REPEAT_MS = 5 * 60_000;
/** Events are kept by the API server for an hour; what is older is forgotten here too. */
const FORGET_MS = 60 * 60_000;
const MAX_MESSAGE = 1_000;
const MAX_NOTED = 10_000;
/** The name of an Event contains at most this many characters of the object's name, which may have 253. */
const MAX_NAME = 230;
/** A larger stored count is not valid: the API server would refuse to increase it. */
const MAX_COUNT = 1_000_000_000;

interface StoredEvent extends KubeObject {
  readonly count?: number;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly reportingComponent?: string;
  readonly involvedObject?: Readonly<Record<string, string>>;
}

function nameOf({ metadata }: EventSubject, suffix: string): string {
  return `${metadata.name.slice(0, MAX_NAME).replace(/[^a-z0-9]+$/, '')}.${suffix}`;
}

function messageOf({ message }: EventText): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed();
}

/** The name of an Event is a hash of its content, so that a restarted process increases the count instead of repeating the Event. */
export function createEventRecorder(
  component: string,
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
): EventRecorder {
  const { client, clock, log } = dependencies;
  const noted = new Map<string, Noted>();

  const body = ({ name, subject, text, firstAt, lastAt, count }: Noted): object => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: subject.metadata.namespace ?? 'default' },
    involvedObject: {
      apiVersion: subject.apiVersion,
      kind: subject.kind,
      name: subject.metadata.name,
      namespace: subject.metadata.namespace,
      uid: subject.metadata.uid,
    },
    ...text,
    message: messageOf(text),
    count,
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(lastAt),
    source: { component },
    reportingComponent: component,
  });

  /** Whether a stored Event says this: any node may make Events, and could have taken the name for something else. */
  const saysThis = (stored: StoredEvent, { subject, text }: Noted): boolean =>
    stored.type === text.type &&
    stored.reason === text.reason &&
    stored.message === messageOf(text) &&
    stored.reportingComponent === component &&
    stored.involvedObject?.['kind'] === subject.kind &&
    stored.involvedObject['name'] === subject.metadata.name &&
    stored.involvedObject['uid'] === subject.metadata.uid &&
    (stored.count ?? 0) < MAX_COUNT;

  /** Creates the Event; returns false if its name is taken. */
  const create = async (event: Noted, signal: AbortSignal): Promise<boolean> => {
    const path = collectionPath(EVENTS, event.subject.metadata.namespace ?? 'default');
    const response = await client.send({ method: 'POST', path, body: body(event) }, signal);
    // 404: a namespace that is gone; 403: one that is going.
    if (response.status < 300 || response.status === 404 || response.status === 403) return true;
    if (response.status === 409) return false;
    throw new NodemaintError(
      'API_REFUSED',
      `the API server refused the Event ${event.name}: ${statusMessage(response)}`,
    );
  };

  /** Counts the stored Event up; false where there is none that says the same, or that can be counted. */
  const countUp = async (event: Noted, signal: AbortSignal): Promise<boolean> => {
    const namespace = event.subject.metadata.namespace ?? 'default';
    const path = objectPath(EVENTS, { name: event.name, namespace });
    const answer = await client.send({ method: 'GET', path }, signal);
    // A node may make Events and not read them: it does not count, and does not trust a name that is taken.
    if (answer.status === 403) return event.written > 0;
    if (answer.status !== 200) return false;
    const stored = answer.body as StoredEvent;
    if (!saysThis(stored, event)) return false;
    const total = (stored.count ?? 0) + event.count - event.written;
    const patch = { count: total, lastTimestamp: rfc3339(event.lastAt) };
    const update = { method: 'PATCH', path, body: patch, patch: { kind: 'merge' } } as const;
    return (await sendForObject(client, update, [404, 403, 409, 422], signal)) !== undefined;
  };

  const write = async (event: Noted, signal: AbortSignal): Promise<void> => {
    const { count } = event;
    if (event.written > 0 || !(await create(event, signal))) {
      if (!(await countUp(event, signal))) {
        event.name = nameOf(event.subject, randomBytes(8).toString('hex'));
        await create(event, signal);
      }
    }
    event.written = count;
  };

  const queue = createWorkQueue(
    'events',
    async (key, signal) => {
      const event = noted.get(key);
      if (event === undefined) return {};
      if (event.count === event.written) {
        if (clock.now() - event.lastAt >= FORGET_MS) noted.delete(key);
        return noted.has(key) ? { againMs: FORGET_MS } : {};
      }
      // An event that cannot be written must not be tried for ever: people have the log too.
      await write(event, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        event.written = event.count;
        log.warn({ event: key, reason: describeError(error) }, 'event not written');
      });
      return { againMs: REPEAT_MS };
    },
    1,
    dependencies,
  );

  return {
    record: (subject, text) => {
      const { kind, metadata } = subject;
      const said = [kind, metadata.name, metadata.uid, text.reason, text.message].join('\n');
      const digest = createHash('sha256').update(said).digest('hex').slice(0, 16);
      const name = nameOf(subject, digest);
      const key = `${subject.metadata.namespace ?? 'default'}/${name}`;
      const now = clock.now();
      const known = noted.get(key);
      if (known !== undefined) {
        known.count += 1;
        known.lastAt = now;
        return;
      }
      if (noted.size >= MAX_NOTED) noted.delete(noted.keys().next().value ?? '');
      noted.set(key, { subject, text, name, firstAt: now, lastAt: now, count: 1, written: 0 });
      queue.add(key);
    },
    run: (signal) => queue.run(signal),
  };
}
