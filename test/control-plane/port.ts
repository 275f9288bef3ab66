import { createServer, type Server } from 'node:net';

// Below the kernel's ephemeral range: a client that keeps calling a stopped server on loopback from that range can be
// given the server's own port as its source, connects to itself, and the server can never bind again.
const FIRST = 12_000;
const BLOCK_SIZE = 100;
const BLOCKS = 180;
/** A process owns a block of ports while it listens on the port with the number of the block above this one. */
const FIRST_LOCK = FIRST + BLOCKS * BLOCK_SIZE;

/** Listens on the port of loopback; undefined where it is taken. */
async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

async function canListen(port: number): Promise<boolean> {
  const server = await listenOn(port);
  if (server === undefined) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/**
 * Takes a block of ports for this process, until it ends. Test files run beside each other, and a server may bind its port
 * long after it was handed out.
 */
async function takeBlock(): Promise<number[]> {
  for (;;) {
    const block = Math.floor(Math.random() * BLOCKS);
    const lock = await listenOn(FIRST_LOCK + block);
    lock?.unref();
    if (lock !== undefined) return Array.from({ length: BLOCK_SIZE }, (_, index) => FIRST + block * BLOCK_SIZE + index);
  }
}

let ports: Promise<number[]> | undefined;

/** A TCP port on loopback that nobody uses now, and that no other process of the tests hands out. */
export async function freePort(): Promise<number> {
  for (;;) {
    ports ??= takeBlock();
    const port = (await ports).pop();
    if (port === undefined) ports = undefined;
    else if (await canListen(port)) return port;
  }
}
