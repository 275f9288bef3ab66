/**
 * The signals that are listened for over a bus connection, and the owners of the names that may send them. A signal
 * counts only when its sender is the present owner of the expected name: anybody may send a signal that looks the same.
 */
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { BusCall, BusConnection, BusSignal } from './connection.ts';

const BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

/** Which signal; `sender` is a well-known name. */
export interface SignalMatch {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
}

export interface BusSubscriptions {
  add(match: SignalMatch, listener: (body: readonly unknown[]) => void): void;
  /** Takes a fresh connection into use: everything that was added is asked for again. */
  attach(connection: BusConnection): void;
  detach(): void;
  /** Takes a signal off the wire. Never throws. */
  readonly dispatch: (event: BusSignal) => void;
}

function matchRule(fields: Readonly<Record<string, string>>): string {
  return ['type=signal', ...Object.entries(fields).map(([key, value]) => `${key}='${value}'`)].join(',');
}

/** Makes an empty set; `onServiceChanged` is called when a name that is listened to has a new owner, or none. */
export function createBusSubscriptions({
  log,
  onServiceChanged,
}: {
  readonly log: Log;
  readonly onServiceChanged: () => void;
}): BusSubscriptions {
  const entries: { readonly match: SignalMatch; readonly listener: (body: readonly unknown[]) => void }[] = [];
  const owners = new Map<string, string>();
  let connection: BusConnection | undefined;

  /** Asks the bus; a refusal throws the connection away, because it would leave us deaf. */
  const ask = (member: string, argument: string, onBody: (body: readonly unknown[]) => void): void => {
    const asked = connection;
    const call: BusCall = { ...BUS, member, signature: 's', body: [argument] };
    asked?.send(call, (reply) => {
      if (reply.kind === 'return') onBody(reply.body);
      if (reply.kind !== 'error' || reply.name === 'org.freedesktop.DBus.Error.NameHasNoOwner') return;
      asked.close(new Error(`the bus refused ${member}: ${reply.text} (${reply.name})`));
    });
  };
  const addMatch = (rule: string): void => {
    ask('AddMatch', rule, () => undefined);
  };
  /** The owner is known before the first signal comes: the bus answers in the order in which it was asked. */
  const followOwner = (name: string): void => {
    if (owners.has(name)) return;
    owners.set(name, '');
    addMatch(matchRule({ sender: BUS.destination, interface: BUS.interface, member: 'NameOwnerChanged', arg0: name }));
    ask('GetNameOwner', name, ([owner]) => {
      owners.set(name, String(owner));
    });
  };
  const listen = (match: SignalMatch): void => {
    followOwner(match.sender);
    addMatch(matchRule({ ...match }));
  };

  const dispatchOwner = ([name, , owner]: readonly unknown[]): void => {
    if (typeof name !== 'string' || typeof owner !== 'string' || !owners.has(name)) return;
    owners.set(name, owner);
    onServiceChanged();
  };
  const dispatchSignal = (event: BusSignal): void => {
    for (const { match, listener } of entries) {
      if (match.path !== event.path || match.interface !== event.interface || match.member !== event.member) continue;
      if (owners.get(match.sender) === event.sender) listener(event.body);
      else log.debug({ sender: event.sender, member: event.member }, 'ignoring a signal from a stranger');
    }
  };

  return {
    add: (match, listener) => {
      const known = entries.some((entry) => matchRule({ ...entry.match }) === matchRule({ ...match }));
      entries.push({ match, listener });
      if (!known) listen(match);
    },
    attach: (fresh) => {
      connection = fresh;
      owners.clear();
      for (const rule of new Map(entries.map(({ match }) => [matchRule({ ...match }), match])).values()) listen(rule);
    },
    detach: () => {
      connection = undefined;
      owners.clear();
    },
    dispatch: (event) => {
      try {
        const fromBus = event.sender === BUS.destination && event.interface === BUS.interface;
        if (fromBus && event.member === 'NameOwnerChanged') dispatchOwner(event.body);
        else dispatchSignal(event);
      } catch (error) {
        log.error({ member: event.member, reason: describeError(error) }, 'listener of a signal failed');
      }
    },
  };
}
