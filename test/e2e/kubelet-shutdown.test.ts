/** The kubelet's own graceful shutdown, switched on beside the agent: who says so, and what an installation does about it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Machine } from './machine/machine.ts';
import { allBack, runCase } from './machine/shutdown-case.ts';
import { standaloneNode } from './machine/standalone-node.ts';
import { waitOnMachine } from './machine/witness.ts';

const CONFIG = '/var/lib/kubelet/config.yaml';
const UNIT = '/etc/systemd/system/kubelet.service';
const DROP_INS = '/etc/kubernetes/kubelet.conf.d';
const INSTALL = '/root/nodemaint/install.sh --standalone';
const OPTIONS = { timeoutMs: 240_000 };
const PERIODS = '"shutdownGracePeriod":"20s","shutdownGracePeriodCriticalPods":"8s"';

const LOCK = 'systemd-inhibit --list --no-pager --no-legend | grep -q kubelet';
const LOCK_MS = 120_000;

/** What the doctor says of the kubelet's own shutdown. */
async function diagnosis(machine: Machine): Promise<string> {
  const { stdout } = await machine.ssh('nodemaint doctor', OPTIONS);
  return stdout.split('\n').find((line) => line.includes('kubelet shutdown')) ?? stdout;
}

describe("the kubelet's own graceful shutdown beside the agent on a real machine", () => {
  it('the agent warns of it, switches it off with consent, and drains undisturbed after that', async () => {
    await using machine = await standaloneNode(new AbortController().signal);
    await machine.must(
      `sed -i 's/"shutdownGracePeriod":"0s"/${PERIODS}/' ${CONFIG} && grep -q 20s ${CONFIG} && systemctl restart kubelet`,
    );
    await waitOnMachine(machine, LOCK, LOCK_MS);
    await allBack(machine);

    const warning = await diagnosis(machine);
    console.log(warning);
    assert.match(warning, /^fail .*graceful shutdown is on \(20 s\)/);
    const told = await machine.ssh(INSTALL, OPTIONS);
    console.log(told.stdout, told.stderr);
    assert.match(told.stderr, /the kubelet's own graceful shutdown is on/);

    const byHand = await machine.ssh(`${INSTALL} --disable-kubelet-graceful-shutdown`, OPTIONS);
    console.log(byHand.stdout, byHand.stderr);
    assert.notEqual(byHand.code, 0);
    assert.match(byHand.stderr, /could NOT be switched off/);
    assert.match(byHand.stderr, /has no --config-dir; in \/var\/lib\/kubelet\/config\.yaml set shutdownGracePeriod/);

    await machine.must(
      `mkdir -p ${DROP_INS} && sed -i 's,--config=${CONFIG},& --config-dir=${DROP_INS},' ${UNIT} && systemctl daemon-reload && systemctl restart kubelet`,
    );
    await allBack(machine);
    const done = await machine.must(`${INSTALL} --disable-kubelet-graceful-shutdown`, OPTIONS);
    console.log(done, await machine.must(`head ${DROP_INS}/*; cat /etc/nodemaint/config.yaml`));
    assert.match(done, /Wrote \/etc\/kubernetes\/kubelet\.conf\.d\//);
    await allBack(machine);
    assert.match(await diagnosis(machine), /^ok .*graceful shutdown is off/);
    await waitOnMachine(machine, `! { ${LOCK}; }`, LOCK_MS);

    console.log(await runCase(machine, { name: 'systemctl reboot', begin: 'systemctl reboot', ends: 'reboot' }));
  });
});
