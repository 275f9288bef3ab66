/**
 * The subscriptions to signals over a bus connection, and the owners of the names that may send them. A signal is
 * delivered only if its sender owns the expected name: every process may send a signal that looks the same.
 */
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { BusCall, BusConnection, BusSignal } from './connection.ts';

const BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

/** Selects a signal; `sender` is a well-known name. */
export interface SignalMatch {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
}

export interface BusSubscriptions {
  add(match: SignalMatch, listener: (body: readonly unknown[]) => void): void;
  /** Uses a new connection: asks the bus again for every subscription. */
  attach(connection: BusConnection): void;
  /** Stops using the connection; subscriptions are kept for the next one. */
  detach(): void;
  /** Delivers a received signal to its listeners. Never throws. */
  readonly dispatch: (event: BusSignal) => void;
}

function matchRule(fields: Readonly<Record<string, string>>): string {
  return ['type=signal', ...Object.entries(fields).map(([key, value]) => `${key}='${value}'`)].join(',');
}

interface Entry {
  readonly match: SignalMatch;
  readonly listener: (body: readonly unknown[]) => void;
}

/** `onServiceChanged` is called when a name with a subscription gets a new owner, or loses its owner. */
export function createBusSubscriptions(options: {
  readonly log: Log;
  readonly onServiceChanged: () => void;
}): BusSubscriptions {
  const { log, onServiceChanged } = options;
  const entries: Entry[] = [];
  const owners = new Owners();

  const dispatchSignal = (event: BusSignal): void => {
    for (const { match, listener } of entries) {
      if (match.path !== event.path || match.interface !== event.interface || match.member !== event.member) continue;
      if (owners.owns(match.sender, event.sender)) listener(event.body);
      else log.debug({ sender: event.sender, member: event.member }, 'ignoring a signal from an unexpected sender');
    }
  };

  return {
    add: (match, listener) => {
      const known = entries.some((entry) => matchRule({ ...entry.match }) === matchRule({ ...match }));
      entries.push({ match, listener });
      if (!known) owners.listen(match);
    },
    attach: (connection) => {
      owners.attach(connection);
      const rules = new Map(entries.map(({ match }) => [matchRule({ ...match }), match]));
      for (const match of rules.values()) owners.listen(match);
    },
    detach: () => {
      owners.attach(undefined);
    },
    dispatch: (event) => {
      try {
        const fromBus = event.sender === BUS.destination && event.interface === BUS.interface;
        if (!fromBus || event.member !== 'NameOwnerChanged') dispatchSignal(event);
        else if (owners.change(event.body)) onServiceChanged();
      } catch (error) {
        log.error({ member: event.member, reason: describeError(error) }, 'listener of a signal failed');
      }
    },
  };
}

/** What the bus was asked for over the present connection, and who owns the names in it. */
class Owners {
  #connection: BusConnection | undefined;
  /** The unique name of the owner by well-known name; undefined while the name has no owner, or it is not known yet. */
  readonly #owners = new Map<string, string | undefined>();

  /** Starts with another connection, or none, over which nothing was asked for yet. */
  attach(connection: BusConnection | undefined): void {
    this.#connection = connection;
    this.#owners.clear();
  }

  owns(name: string, uniqueName: string): boolean {
    return this.#owners.get(name) === uniqueName;
  }

  /** Asks the bus for a signal, and for the owner of the name that sends it. */
  listen(match: SignalMatch): void {
    this.#followOwner(match.sender);
    this.#addMatch({ ...match });
  }

  /** Takes the body of NameOwnerChanged. Returns whether it concerns a name with a subscription. */
  change([name, , owner]: readonly unknown[]): boolean {
    if (typeof name !== 'string' || typeof owner !== 'string' || !this.#owners.has(name)) return false;
    this.#owners.set(name, owner === '' ? undefined : owner);
    return true;
  }

  /** The owner is known before the first signal arrives: the bus answers in the order of the requests. */
  #followOwner(name: string): void {
    if (this.#owners.has(name)) return;
    this.#owners.set(name, undefined);
    this.#addMatch({ sender: BUS.destination, interface: BUS.interface, member: 'NameOwnerChanged', arg0: name });
    this.#ask('GetNameOwner', name, ([owner]) => {
      this.#owners.set(name, String(owner));
    });
  }

  #addMatch(fields: Readonly<Record<string, string>>): void {
    this.#ask('AddMatch', matchRule(fields), () => undefined);
  }

  /** Asks the bus. A refusal closes the connection, because without that answer signals would be lost unnoticed. */
  #ask(member: string, argument: string, onBody: (body: readonly unknown[]) => void): void {
    const asked = this.#connection;
    const call: BusCall = { ...BUS, member, signature: 's', body: [argument] };
    asked?.send(call, (reply) => {
      if (reply.kind === 'return') onBody(reply.body);
      if (reply.kind !== 'error' || reply.name === 'org.freedesktop.DBus.Error.NameHasNoOwner') return;
      asked.close(new Error(`the bus refused ${member}: ${reply.text} (${reply.name})`));
    });
  }
}
