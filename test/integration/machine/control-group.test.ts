/** Who may use the control socket; as users that only root can become. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { openControlSocket } from '../../../src/agent/control/socket.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import { inSandbox, withAgent } from '../../support/agent/sandbox.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { asUser, type OtherUser } from '../../support/commands/other-user.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

// User and group nobody, and the group daemon, of every Debian.
const [NOBODY, DAEMON] = [65_534, 1];

/** What a user is answered on a socket, or how he is refused. */
async function runAs(user: OtherUser, socket: string, line: string): Promise<string> {
  const script = `const s = require('node:net').createConnection(process.argv[1]);
    s.on('error', (e) => console.log(e.code)); s.on('data', (d) => console.log(String(d))); s.write(process.argv[2] + '\\n');`;
  const [program, ...args] = asUser(user, [process.execPath, '-e', script, socket, line]);
  return (await promisify(execFile)(program, args, { timeout: 20_000 })).stdout;
}

type Held = Exclude<Phase, { readonly kind: 'watching' }>;

/** What a test does with an agent whose control group is that of the group daemon. */
interface GroupAgent {
  readonly flags: readonly string[];
  /** What a member of the group is answered. */
  ask(request: Readonly<Record<string, unknown>>): Promise<string>;
  /** The shutdown that the agent holds, or has held. */
  held(): Promise<Held>;
}

async function withGroupAgent(body: (agent: GroupAgent) => Promise<void>): Promise<void> {
  await inSandbox(async (sandbox) => {
    await sandbox.writeConfig({ controlGroup: 'daemon' });
    await chmod(sandbox.root, 0o755);
    const { runDirectory } = sandbox;
    const held = async (): Promise<Held> => {
      let found: Held | undefined;
      await waitFor('a shutdown is held', async () => {
        const { phase } = await readAgentStatus(runDirectory);
        if (phase.kind !== 'watching') found = phase;
        return found !== undefined;
      });
      assert.ok(found);
      return found;
    };
    const member = { uid: NOBODY, gid: DAEMON };
    const ask = (request: Readonly<Record<string, unknown>>): Promise<string> =>
      runAs(member, path.join(runDirectory, 'group.sock'), JSON.stringify(request));
    await withAgent(sandbox, () => body({ flags: ['--run-directory', runDirectory], ask, held }));
  });
}

describe('the control socket', () => {
  it('the agent refuses a user outside the control group with a message, and answers a member', async () => {
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

  it('a member of the control group may look, trigger and cancel, and nothing else', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ controlGroup: 'daemon' });
      await chmod(sandbox.root, 0o755);
      const flags = ['--run-directory', sandbox.runDirectory];
      await withAgent(sandbox, async () => {
        const member = { uid: NOBODY, gid: DAEMON };
        for (const line of ['{"verb":"release","reason":"r"}', '{"verb":"restore","file":"etcd.yaml"}']) {
          const said = await runAs(member, path.join(sandbox.runDirectory, 'group.sock'), line);
          assert.match(said, /only root may ask for/);
          assert.match(await runAs(member, path.join(sandbox.runDirectory, 'control.sock'), line), /EACCES/);
        }
        const triggered = await runNodemaint(['trigger', '--reason', 'maintenance', ...flags], member);
        assert.equal(triggered.code, 0, triggered.stderr);
        const held = await runNodemaint(['release', '--reason', 'now', ...flags], member);
        assert.equal(held.code, 2);
        assert.match(held.stderr, /only root may ask for "release"/);
        assert.equal((await runNodemaint(['cancel', ...flags], member)).code, 0);
        const who = 'a member of the control group';
        const told = [new RegExp(`Asked by: +${who}: maintenance`), new RegExp(`called off: by ${who}`)];
        await waitFor('the report names who announced the shutdown and who took it back', async () => {
          const { stdout } = await runNodemaint(['report', '--config', sandbox.configFile]);
          return told.every((each) => each.test(stdout));
        });
      });
    });
  });

  it('a member of the control group does not shorten a shutdown that root announced', async () => {
    await withGroupAgent(async ({ ask, held, flags }) => {
      assert.equal((await runNodemaint(['trigger', '--reason', 'of root', ...flags])).code, 0);
      assert.equal((await held()).reason, 'of root');
      for (const deadlineMs of [1, 60_000, undefined]) {
        assert.match(await ask({ verb: 'trigger', reason: 'mine', deadlineMs }), /"error":"[^"]*only root/);
      }
      const { deadline, reason } = await held();
      assert.deepEqual([deadline, reason], [undefined, 'of root']);
    });
  });

  it('a member of the control group names no deadline below 30 s, and may change that of its own trigger', async () => {
    await withGroupAgent(async ({ ask, held, flags }) => {
      assert.match(await ask({ verb: 'trigger', reason: 'mine', deadlineMs: 29_999 }), /"error":"[^"]*30 s or more/);
      const { stdout } = await runNodemaint(['status', ...flags]);
      assert.match(stdout, /waiting for a shutdown/);
      assert.match(await ask({ verb: 'trigger', reason: 'mine', deadlineMs: 60_000 }), /done/);
      const { deadline } = await held();
      assert.equal(deadline?.of, 'trigger');
    });
  });

  it('the control socket is for root alone, and the other socket for the group that is configured', async (t) => {
    const folder = await temporaryFolder(t, 'control');
    const handler = (): Promise<unknown> => Promise.resolve({});
    const modeAndGroup = async (name: string): Promise<readonly number[]> => {
      const { mode, gid } = await stat(path.join(folder, name));
      return [mode & 0o777, gid];
    };
    {
      await using _open = await openControlSocket(folder, handler, 'daemon');
      assert.deepEqual(await modeAndGroup('control.sock'), [0o600, 0]);
      assert.deepEqual(await modeAndGroup('group.sock'), [0o660, DAEMON]);
      await assert.rejects(openControlSocket(folder, handler), { code: 'ALREADY_RUNNING' });
    }
    {
      await using _open = await openControlSocket(folder, handler);
      await assert.rejects(stat(path.join(folder, 'group.sock')), { code: 'ENOENT' });
    }
    await assert.rejects(openControlSocket(folder, handler, 'no-such-group'), { code: 'CONFIG_INVALID' });
  });
});
