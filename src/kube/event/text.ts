import type { KubeObject } from '../../api/meta.ts';
import { rfc3339 } from '../../decide/time.ts';

/** The content of an Event. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** An object that Events are about; it has its kind, because the objects of a list have none. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeObject['metadata'];
}

/** A longer message is cut. */
const MAX_MESSAGE = 1_000;
/** The name of an Event contains at most this many characters of the object's name, which may have 253. */
const MAX_NAME = 230;

/** A name for an Event of the object, with this suffix. */
export function eventName({ metadata }: EventSubject, suffix: string): string {
  return `${metadata.name.slice(0, MAX_NAME).replace(/[^a-z0-9]+$/, '')}.${suffix}`;
}

/** The namespace that an Event of the object is in. */
export function namespaceOf({ metadata }: EventSubject): string {
  return metadata.namespace ?? 'default';
}

/** The message as the API server takes it. */
function messageOf({ message }: EventText): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed();
}

/** How often an Event was recorded, and when first and last, in milliseconds since the epoch. */
interface EventTimes {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The Event (core/v1) with this name, as a component reports it. */
export function eventBody(
  name: string,
  { subject, text }: { readonly subject: EventSubject; readonly text: EventText },
  { count, firstAt, lastAt }: EventTimes,
  component: string,
): object {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: namespaceOf(subject) },
    involvedObject: {
      apiVersion: subject.apiVersion,
      kind: subject.kind,
      name: subject.metadata.name,
      namespace: subject.metadata.namespace,
      uid: subject.metadata.uid,
    },
    type: text.type,
    reason: text.reason,
    message: messageOf(text),
    count,
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(lastAt),
    source: { component },
    reportingComponent: component,
  };
}
