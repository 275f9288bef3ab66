/** What the control socket does with garbage. */
import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type AgentSandbox, inSandbox, withAgent } from '../support/agent-sandbox.ts';
import { readAgentStatus } from '../support/nodemaint.ts';

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

  it('a client that says no more after its request is answered, and silent ones keep nobody out', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const silent = Array.from({ length: 50 }, () => sayTo(sandbox, '{"verb":"sta'));
        assert.match(await sayTo(sandbox, '{"verb":"status"}\n', 'and ends'), /"summary"/);
        assert.deepEqual(new Set(await Promise.all(silent)), new Set(['']));
        assert.equal(await sayTo(sandbox, '{"verb":"sta', 'and ends'), '');
      });
    });
  });
});
