import type { Server, Socket } from 'node:net';

/** Time limits of HTTP servers, which close connections of slow clients. By default Node.js checks only every 30 s. */
export const SERVER_TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;

/** Limits the connections of a server: `most` in total, and `mostOfOne` from one address, so that no client uses them all. */
export function limitConnections(server: Server, most: number, mostOfOne: number): void {
  const open = new Map<string, number>();
  server.maxConnections = most;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    const count = (open.get(remoteAddress) ?? 0) + 1;
    if (count > mostOfOne) {
      socket.destroy();
      return;
    }
    open.set(remoteAddress, count);
    socket.on('close', () => {
      const left = (open.get(remoteAddress) ?? 1) - 1;
      if (left === 0) open.delete(remoteAddress);
      else open.set(remoteAddress, left);
    });
  });
}
