/** Who may use the control socket; as users that only root can become. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { inSandbox, withAgent } from '../support/agent-sandbox.ts';
import { runNodemaint } from '../support/nodemaint.ts';

// User and group nobody, and the group daemon, of every Debian.
const [NOBODY, DAEMON] = [65_534, 1];

describe('the control socket', () => {
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
