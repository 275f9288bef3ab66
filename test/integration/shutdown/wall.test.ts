/** The messages to users at terminals, by the real wall, in the sandbox of the agent's unit. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { CHECKOUT, NODE, type SystemContainer, startSystemContainer } from '../../systemd/container.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Logs a user in at pts/0, and records what that terminal shows. */
const LOG_IN = `systemd-run --quiet --unit=terminal script --quiet --flush --append --command 'sleep 1000' /root/terminal
until [ -e /dev/pts/0 ]; do sleep 0.1; done
base64 -d > /run/utmp`;

/** The record of utmp(5) that says so; its length is that of this processor's C library. */
function utmpRecord(): Buffer {
  const record = Buffer.alloc(process.arch === 'x64' ? 384 : 400);
  const USER_PROCESS = 7;
  record.writeInt16LE(USER_PROCESS, 0);
  record.writeInt32LE(1, 4);
  record.write('pts/0', 8);
  record.write('ts/0', 40);
  record.write('root', 44);
  return record;
}

describe('users at terminals', () => {
  let container: SystemContainer;

  before(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(LOG_IN, utmpRecord().toString('base64'));
  });

  after(async () => {
    await container?.[Symbol.asyncDispose]();
  });

  for (const [what, line, shown] of [
    ['a line', 'the pods of n1 have left', /the pods of n1 have left/],
    ['a line that begins like an option', '--version of a reason: waiting', /--version of a reason: waiting/],
    ['a line that is the name of a file', '/etc/hostname', /\/etc\/hostname/],
    ['a line with escape sequences', 'red \u001b[31m \u009b2J and\nbroken', /red \[31m 2J and broken/],
  ] as const) {
    it(`users at terminals are told ${what}, and nothing else`, async () => {
      await container.must(': > /root/terminal');
      // A unit's command line takes "%" and "$" for its own; standard input of sh takes nothing.
      const tell = `exec ${NODE} ${CHECKOUT}/test/systemd/tell-users.ts "$(cat)"`;
      const sandbox = '--property=PrivateDevices=yes --property=NoNewPrivileges=yes --property=ProtectSystem=strict';
      await container.must(`systemd-run --quiet --wait --pipe ${sandbox} sh -c '${tell}'`, line);
      const read = async (): Promise<string> => await container.must('cat /root/terminal');
      await waitFor('the terminal shows it', async () => shown.test(await read())).catch(() => undefined);
      const text = await read();
      assert.match(text, shown);
      assert.ok(!text.includes('\u001b[31m') && !text.includes('\u009b'), JSON.stringify(text));
    });
  }

  it('users at a virtual console are not reached, which a unit with devices of its own does not have', async () => {
    const look = 'systemd-run --quiet --wait --pipe --property=PrivateDevices=yes';
    const devices = await container.must(`touch /dev/tty1; ${look} ls /dev`);
    assert.ok(devices.includes('pts') && !devices.includes('tty1'), devices);
  });
});
