/** Who may use the control socket, and what it does with garbage. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type AgentSandbox, inSandbox, withAgent } from '../support/agent-sandbox.ts';
import { readAgentStatus, runNodemaint } from '../support/nodemaint.ts';

// User and group nobody, and the group daemon, of every Debian.
const [NOBODY, DAEMON] = [65_534, 1];

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

  it('a user outside the control group is refused with a message, and one of it is answered', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ controlGroup: 'daemon' });
      await chmod(sandbox.root, 0o755);
      const flags = ['--run-directory', sandbox.runDirectory];
      await withAgent(sandbox, async () => {
        for (const verb of [['status'], ['trigger', '--reason', 'no rights']]) {
          const { code, stderr } = await runNodemaint([...verb, ...flags], { uid: NOBODY, gid: NOBODY });
          assert.equal(code, 1);
          assert.match(stderr, /no agent answers at .*control\.sock \(connect EACCES.*are you root\?/);
        }
        const { code, stdout, stderr } = await runNodemaint(['status', ...flags], { uid: NOBODY, gid: DAEMON });
        assert.equal(code, 0, stderr);
        assert.match(stdout, /waiting for a shutdown/);
      });
    });
  });
});
