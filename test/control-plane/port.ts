import { createServer } from 'node:net';

// Below the kernel's ephemeral range: a client that keeps calling a stopped server on loopback from that range can be
// given the server's own port as its source, connects to itself, and the server can never bind again.
const FIRST = 12_000;
const COUNT = 18_000;

const taken = new Set<number>();

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** A TCP port on loopback that nobody uses now, and that this process has not handed out before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (taken.has(port)) continue;
    taken.add(port);
    if (await canListen(port)) return port;
  }
}
