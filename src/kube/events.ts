import { createHash } from 'node:crypto';
import type { KubeObject } from '../api/meta.ts';
import { rfc3339 } from '../decide/time.ts';
import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { createWorkQueue } from './queue.ts';
import { EVENTS, collectionPath, objectPath, sendForObject } from './resource.ts';

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
  tell(subject: EventSubject, text: EventText): void;
  /** Writes what was noted until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface Noted {
  readonly subject: EventSubject;
  readonly text: EventText;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The count that the API server has. */
  written: number;
}

/** The same event again is written at most so often. */
const REPEAT_MS = 5 * 60_000;
/** Events are kept by the API server for an hour; what is older is forgotten here too. */
const FORGET_MS = 60 * 60_000;
const MAX_MESSAGE = 1_000;
const MAX_NOTED = 10_000;

interface StoredEvent extends KubeObject {
  readonly count?: number;
}

/** Makes a recorder; an event's name is made from what it says, so that restarts count on instead of repeating it. */
export function createEventRecorder(
  component: string,
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
): EventRecorder {
  const { client, clock, log } = dependencies;
  const noted = new Map<string, Noted>();

  const body = (name: string, { subject, text, firstAt, lastAt }: Noted, count: number): object => ({
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
    message: text.message.slice(0, MAX_MESSAGE),
    count,
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(lastAt),
    source: { component },
    reportingComponent: component,
  });

  const write = async (key: string, event: Noted, signal: AbortSignal): Promise<void> => {
    const name = key.slice(key.indexOf('/') + 1);
    const namespace = event.subject.metadata.namespace ?? 'default';
    const { count } = event;
    const path = objectPath(EVENTS, { name, namespace });
    const post = { method: 'POST', path: collectionPath(EVENTS, namespace), body: body(name, event, count) } as const;
    // 404: a namespace that is gone; 403: one that is going.
    const created = event.written > 0 ? undefined : await sendForObject(client, post, [409, 404, 403], signal);
    if (created === undefined) {
      const stored = await sendForObject<StoredEvent>(client, { method: 'GET', path }, [404, 403], signal);
      if (stored !== undefined) {
        const total = (stored.count ?? 0) + count - event.written;
        const patch = { count: total, lastTimestamp: rfc3339(event.lastAt) };
        const update = { method: 'PATCH', path, body: patch, patch: { kind: 'merge' } } as const;
        await sendForObject(client, update, [404, 403, 409], signal);
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
      await write(key, event, signal).catch((error: unknown) => {
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
    tell: (subject, text) => {
      const digest = createHash('sha256').update(`${text.reason}\n${text.message}`).digest('hex').slice(0, 16);
      const key = `${subject.metadata.namespace ?? 'default'}/${subject.metadata.name}.${digest}`;
      const now = clock.now();
      const known = noted.get(key);
      if (known !== undefined) {
        known.count += 1;
        known.lastAt = now;
        return;
      }
      if (noted.size >= MAX_NOTED) noted.delete(noted.keys().next().value ?? '');
      noted.set(key, { subject, text, firstAt: now, lastAt: now, count: 1, written: 0 });
      queue.add(key);
    },
    run: (signal) => queue.run(signal),
  };
}
