import type { Server, Socket } from 'node:net';

/** Time limits of HTTP servers, which close connections of slow clients. By default Node.js checks only every 30 s. */
export const SERVER_TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;

/** The open connections of a server by address, the oldest of each first. */
class OpenConnections {
  readonly #byAddress = new Map<string, Set<Socket>>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(address: string): number {
    return this.#byAddress.get(address)?.size ?? 0;
  }

  add(address: string, socket: Socket): void {
    const own = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, own.add(socket));
    this.#total += 1;
  }

  remove(address: string, socket: Socket): void {
    const own = this.#byAddress.get(address);
    if (own?.delete(socket) !== true) return;
    this.#total -= 1;
    if (own.size === 0) this.#byAddress.delete(address);
  }

  /** The oldest connection of the address that has more than any other, and more than `least`; undefined if there is none. */
  oldestOfBusiest(least: number): readonly [string, Socket] | undefined {
    const [address, sockets] = [...this.#byAddress].reduce(
      (most, each) => (each[1].size > most[1].size ? each : most),
      ['', new Set<Socket>()],
    );
    const [oldest] = sockets;
    return sockets.size > least && oldest !== undefined ? [address, oldest] : undefined;
  }
}

/**
 * Limits the connections of a server: `most` in total, and `mostOfOne` from one address. Where all places are taken, a client
 * gets one of the address that has the most, unless it has as many itself: so a few clients with slow connections cannot keep
 * out the probes of the kubelet, or an API server.
 */
export function limitConnections(server: Server, most: number, mostOfOne: number): void {
  const open = new OpenConnections();
  const hasPlace = (address: string): boolean => {
    if (open.of(address) >= mostOfOne) return false;
    if (open.total < most) return true;
    const given = open.oldestOfBusiest(open.of(address) + 1);
    if (given === undefined) return false;
    open.remove(...given);
    given[1].destroy();
    return true;
  };
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (!hasPlace(remoteAddress)) {
      socket.destroy();
      return;
    }
    open.add(remoteAddress, socket);
    socket.on('close', () => {
      open.remove(remoteAddress, socket);
    });
  });
}
