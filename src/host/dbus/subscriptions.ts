/**
 * The subscriptions to signals over a bus connection. Every process may send a signal that looks like that of another: to a
 * subscription the bus forwards only what the owner of the expected name has sent, and what is sent to this connection alone is
 * dropped before (filter.ts).
 */
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { BusConnection, BusSignal } from './connection.ts';

const BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const OWNER_CHANGED = { sender: BUS.destination, interface: BUS.interface, member: 'NameOwnerChanged' };

/** Selects a signal; `sender` is a well-known name. */
export interface SignalMatch {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
}

type Listener = (body: readonly unknown[]) => void;

function matchRule(fields: Readonly<Record<string, string>>): string {
  return ['type=signal', ...Object.entries(fields).map(([key, value]) => `${key}='${value}'`)].join(',');
}

/** The subscriptions, which are kept for the next connection where one ends. */
export class BusSubscriptions {
  readonly #log: Log;
  readonly #onServiceChanged: () => void;
  readonly #entries: { readonly match: SignalMatch; readonly listener: Listener }[] = [];
  /** What the bus is asked for over each connection. */
  readonly #rules = new Set<string>();
  #connection: BusConnection | undefined;

  /** `onServiceChanged` is called when a name with a subscription gets a new owner, or loses its owner. */
  constructor(log: Log, onServiceChanged: () => void) {
    this.#log = log;
    this.#onServiceChanged = onServiceChanged;
  }

  add(match: SignalMatch, listener: Listener): void {
    this.#entries.push({ match, listener });
    for (const rule of [matchRule({ ...OWNER_CHANGED, arg0: match.sender }), matchRule({ ...match })]) {
      if (this.#rules.has(rule)) continue;
      this.#rules.add(rule);
      this.#ask(rule);
    }
  }

  /** Uses this connection, or none: asks the bus again for every subscription. */
  attach(connection: BusConnection | undefined): void {
    this.#connection = connection;
    for (const rule of this.#rules) this.#ask(rule);
  }

  /** Delivers a received signal to its listeners. Never throws. */
  dispatch(event: BusSignal): void {
    try {
      if (event.sender === OWNER_CHANGED.sender && event.member === OWNER_CHANGED.member) this.#onServiceChanged();
      for (const { match, listener } of this.#entries) {
        const isMatch = match.path === event.path && match.interface === event.interface;
        if (isMatch && match.member === event.member) listener(event.body);
      }
    } catch (error) {
      this.#log.error({ member: event.member, reason: describeError(error) }, 'listener of a signal failed');
    }
  }

  /** Asks the bus. A refusal closes the connection, because signals would be lost unnoticed. */
  #ask(rule: string): void {
    const asked = this.#connection;
    asked?.send({ ...BUS, member: 'AddMatch', signature: 's', body: [rule] }, (reply) => {
      if (reply.kind === 'error') asked.close(new Error(`the bus refused ${rule}: ${reply.text} (${reply.name})`));
    });
  }
}
