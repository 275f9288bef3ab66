import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertBack, assertOrder, journalOfShutdown, say, startClusterNode } from './machine/cluster-node.ts';
import { assertReport } from './machine/report.ts';
import { WITNESS, witnessed } from './machine/witness.ts';

/** Until the first pod is told to end. */
const DRAIN_MS = 300_000;
const REBOOT_MS = 600_000;

/** A machine goes down in two ways: logind announces it and waits for locks, or systemd stops the units without logind. */
const WAYS = [
  { command: 'systemctl reboot', isReachable: true },
  // This one stops the ssh server at once, so that nobody can ask how the drain goes.
  { command: 'systemctl start --no-block reboot.target', isReachable: false },
];

describe('a real machine with a real kubelet reboots', () => {
  it('the reboot waits for Default, DaemonSet, low static and high static pods, and brings everything back', async () => {
    await using stack = new AsyncDisposableStack();
    const node = await startClusterNode(stack, 4);
    const { controlPlane, machine } = node;
    // Each command of nodemaint takes the emulated processor half a minute.
    say(await machine.must('systemd-inhibit --list --no-pager; systemctl status nodemaint --no-pager | head -12'));

    // The second way is that of a machine in a container in reboot-all.test.ts; stories and removals have tests of their own.
    for (const { command, isReachable } of WAYS) {
      await machine.must(`: > ${WITNESS}/log`);
      const before = await machine.bootId();
      say(command);
      await machine.must(command);
      if (isReachable) {
        await witnessed(machine, 'web TERM', DRAIN_MS);
        say(await machine.must('nodemaint status'));
        say(await controlPlane.kubectl(['get', 'nm,evreq', '-A']));
      }
      await machine.waitForReboot(before, REBOOT_MS);
      say('machine is back');
      const journal = await journalOfShutdown(machine);
      console.log(journal.join('\n'));
      assertOrder(journal);
      await assertBack(node);
      await assertReport(machine, journal);
      say(await controlPlane.kubectl(['get', 'nm', '-o', 'wide']));
    }

    say(
      await machine.must('/root/nodemaint/install.sh uninstall --purge; ls -A /etc/kubernetes/manifests', {
        timeoutMs: 600_000,
      }),
    );
    assert.equal((await machine.ssh('systemctl cat nodemaint.service')).code, 1);
  });
});
