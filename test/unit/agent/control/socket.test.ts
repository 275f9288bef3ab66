/** What the control socket does with garbage and with those who take their time, and its client with a long answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { askAgent } from '../../../../src/agent/control/client.ts';
import { openControlSocket } from '../../../../src/agent/control/socket.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { type AgentSandbox, inSandbox, withAgent } from '../../../support/agent/sandbox.ts';
import { readAgentStatus } from '../../../support/commands/nodemaint.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** What the agent answers on its control socket until it closes the connection. */
async function sayTo({ runDirectory }: AgentSandbox, text: string, then?: 'and ends'): Promise<string> {
  return await new Promise((resolve) => {
    let answer = '';
    const socket = createConnection({ path: path.join(runDirectory, 'control.sock'), allowHalfOpen: true });
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('end', () => socket.end());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(answer);
    });
    if (then === undefined) socket.write(text);
    else socket.end(text);
  });
}

describe('the control socket', () => {
  it('garbage on the control socket is answered, and the agent goes on', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        for (const line of ['garbage', '{"verb":"format"}', '{"verb":"trigger","reason":""}', 'x'.repeat(100_000)]) {
          const answer = await sayTo(sandbox, `${line}\n`);
          assert.doesNotMatch(answer, /"done"/);
        }
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a request on the control socket that is too long is not acted on, whatever it says', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const line = `{"verb":"trigger","reason":"too long"}${' '.repeat(5000)}`;
        assert.equal(await sayTo(sandbox, `${line}\n`), '');
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a client that says no more after its request is answered, and silent ones keep no other client out', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const silent = Array.from({ length: 50 }, () => sayTo(sandbox, '{"verb":"sta'));
        assert.match(await sayTo(sandbox, '{"verb":"status"}\n', 'and ends'), /"summary"/);
        assert.deepEqual(new Set(await Promise.all(silent)), new Set(['']));
        assert.equal(await sayTo(sandbox, '{"verb":"sta', 'and ends'), '');
      });
    });
  });

  it('a client that says a byte now and then is cut off after 5 s, and the socket closes at once under it', async (t) => {
    const folder = await temporaryFolder(t, 'control');
    await using open = await openControlSocket(folder, () => Promise.resolve({ answer: 'x'.repeat(8 * 1024 * 1024) }));
    const trickle = (): { readonly ended: Promise<number> } => {
      const startedAt = performance.now();
      const socket = createConnection(path.join(folder, 'control.sock'));
      const timer = setInterval(() => socket.write(' '), 200);
      // A test that fails must not leave what keeps its process alive.
      t.after(() => {
        clearInterval(timer);
        socket.destroy();
      });
      socket.on('error', () => undefined);
      // A write to a socket that was cut off is an error, which comes before its end.
      const ended = new Promise<number>((resolve) => {
        socket.once('close', () => {
          clearInterval(timer);
          resolve(performance.now() - startedAt);
        });
      });
      return { ended };
    };
    // It never reads its answer.
    const deaf = createConnection(path.join(folder, 'control.sock'));
    deaf.write('{"verb":"status"}\n');
    t.after(() => deaf.destroy());
    const first = await trickle().ended;
    assert.ok(first > 4_500, `cut off after ${first} ms`);
    const second = trickle();
    await delay(500);
    await open[Symbol.asyncDispose]();
    assert.ok((await second.ended) < first, 'the client that was just begun did not have its whole time');
  });

  it('what comes after a request counts for nothing, and a request may come in pieces', async (t) => {
    const folder = await temporaryFolder(t, 'control');
    const verbs: string[] = [];
    await using _open = await openControlSocket(folder, ({ verb }) => Promise.resolve({ done: `${verbs.push(verb)}` }));
    const sandbox = { runDirectory: folder } as AgentSandbox;
    assert.equal(await sayTo(sandbox, '{"verb":"status"}\n{"asker":{"pid":1}}\n'), '{"done":"1"}\n');
    const socket = createConnection(path.join(folder, 'control.sock'));
    for (const piece of ['{"verb":"sta', 'tus"}\n']) {
      socket.write(piece);
      await delay(20);
    }
    await once(socket, 'data');
    socket.destroy();
    assert.deepEqual(verbs, ['status', 'status']);
  });

  it('a connection is over when it was answered: many clients after each other are none too many', async (t) => {
    const folder = await temporaryFolder(t, 'control');
    await using _open = await openControlSocket(folder, () => Promise.resolve({ done: 'status' }));
    for (let count = 0; count < 250; count += 1) {
      assert.deepEqual(await askAgent(folder, { verb: 'status' }), { done: 'status' });
    }
  });

  it('more connections than it can have are refused, and it answers when they are gone', async (t) => {
    const folder = await temporaryFolder(t, 'control');
    await using _open = await openControlSocket(folder, () => Promise.resolve({ done: 'status' }));
    const sockets = Array.from({ length: 300 }, () => {
      const socket = createConnection(path.join(folder, 'control.sock'));
      socket.on('error', () => undefined);
      return socket;
    });
    const alive = (): number => sockets.filter((socket) => !socket.destroyed).length;
    await waitFor('the others are refused', () => alive() <= 100, { timeoutMs: 20_000 });
    assert.equal(alive(), 100);
    for (const socket of sockets) socket.destroy();
    await delay(100);
    assert.deepEqual(await askAgent(folder, { verb: 'status' }), { done: 'status' });
  });

  it('its client takes no answer of any length, and no other than JSON', async (t) => {
    for (const [text, message] of [
      ['x'.repeat(64 * 1024), 'more than 4194304 bytes'],
      [undefined, 'JSON'],
    ] as const) {
      const folder = await temporaryFolder(t, 'control');
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        const more = (): void => {
          if (text === undefined) socket.end('no JSON');
          else while (!socket.destroyed && socket.write(text));
        };
        socket.on('drain', more);
        more();
      });
      server.listen(path.join(folder, 'control.sock'));
      await once(server, 'listening');
      await assert.rejects(
        askAgent(folder, { verb: 'status' }),
        (error) =>
          error instanceof NodemaintError &&
          error.code === 'CONTROL_SOCKET_UNAVAILABLE' &&
          error.message.includes(message),
      );
      server.close();
    }
  });
});
