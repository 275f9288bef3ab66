import assert from 'node:assert/strict';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { limitConnections, SERVER_TIMES } from '../../../src/telemetry/server-limits.ts';
import { waitFor } from '../../support/wait-for.ts';

const MOST = 16;
const MOST_OF_ONE = 4;

/** Serves on all addresses of this machine; returns the port. */
async function serve(t: TestContext): Promise<number> {
  const server = createServer(SERVER_TIMES, (_, response) => response.end('ok'));
  limitConnections(server, MOST, MOST_OF_ONE);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve).unref());
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** A connection from the address whose request never ends. */
function slow(t: TestContext, port: number, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\n');
  t.after(() => socket.destroy());
  return socket;
}

async function connected(sockets: readonly Socket[]): Promise<void> {
  const areOpen = (): boolean => sockets.every((each) => each.readyState === 'open');
  await waitFor('they are connected', areOpen, { timeoutMs: 10_000 });
}

/** The status that a client of the address gets; undefined where its connection is closed. */
async function statusFor(port: number, localAddress: string): Promise<number | undefined> {
  return await new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', localAddress, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', () => resolve(undefined));
  });
}

describe('the connections of a server', () => {
  it('a client that has none gets a place while four others hold all of them with slow requests', async (t) => {
    const port = await serve(t);
    const sockets = [2, 3, 4, 5].flatMap((last) =>
      Array.from({ length: MOST_OF_ONE }, () => slow(t, port, `127.0.0.${last}`)),
    );
    await connected(sockets);
    for (let count = 0; count < 3; count += 1) assert.equal(await statusFor(port, '127.0.0.9'), 200);
  });

  it('one address gets no more than its own places', async (t) => {
    const port = await serve(t);
    const sockets = Array.from({ length: MOST_OF_ONE }, () => slow(t, port, '127.0.0.2'));
    await connected(sockets);
    // The server counts a connection when it accepts it, in their order.
    assert.equal(await statusFor(port, '127.0.0.2'), undefined);
    assert.equal(await statusFor(port, '127.0.0.3'), 200);
  });

  it('while every address has one, a further one is refused', async (t) => {
    const port = await serve(t);
    const sockets = Array.from({ length: MOST }, (_, index) => slow(t, port, `127.0.0.${index + 2}`));
    await connected(sockets);
    assert.equal(await statusFor(port, '127.0.0.99'), undefined);
  });
});
