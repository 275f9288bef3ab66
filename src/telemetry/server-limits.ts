import type { Server, Socket } from 'node:net';

/** For servers of HTTP: whoever sends slowly is not waited for. Node.js looks every half minute unless told otherwise. */
export const SERVER_TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;

/** Bounds the connections of a server: `most` in all, and `mostOfOne` from one address, so that none takes them all. */
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
