/**
 * The .deb on a real machine with a real kubelet: installed, upgraded in the middle of a reboot's drain, removed and purged.
 * NODEMAINT_E2E_DEBIAN and NODEMAINT_E2E_BUS choose another machine.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { makeTestFolder } from '../support/folder.ts';
import { makeDebPair, NEXT_VERSION } from '../support/packages.ts';
import type { Machine } from './machine/machine.ts';
import { runCase } from './machine/shutdown-case.ts';
import { standaloneNode } from './machine/standalone-node.ts';
import { waitOnMachine, WITNESS } from './machine/witness.ts';

/** dpkg unpacks 120 MB, and install.sh waits for the new agent: minutes on processors in software. */
const OPTIONS = { timeoutMs: 900_000 };
const CONFIG = `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
kubeconfig: ''
`;
/** All files but those that other programs write while they run. */
const ALL_FILES =
  "find /etc /usr /opt /srv /root /var /run/systemd/system -xdev ! -path '/var/lib/containerd/*' ! -path '/var/lib/kubelet/*' ! -path '/var/log/*' ! -path '/var/tmp/*' ! -path '/var/witness/*' ! -path '/var/lib/systemd/*' | sort";
const IS_HELD = "systemd-inhibit --list --no-pager --no-legend | grep -q '^nodemaint .*delay'";
const DELAY =
  'busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec';
const GO = `${WITNESS}/go`;

/** Asks whether the lock is held, until the pods may go; more often would take the processors from the upgrade. */
const WATCH_LOCK = `while ! [ -e ${GO} ]; do if ${IS_HELD}; then echo held; else echo lost; fi >> /root/lock; sleep 4; done`;

/** In mid-drain: an upgrade, after which the agent drains on; no removal, because a manifest is parked. */
const UPGRADE = `set -e
dpkg -i /root/next.deb
until nodemaint status -o json | grep -q '"kind": *"draining"'; do sleep 1; done
tail -n 1 /usr/lib/nodemaint/nodemaint.cjs | grep -qx '// next'
! dpkg -r nodemaint 2> /root/refused
grep -q 'these manifests are parked' /root/refused
[ "$(dpkg-query -W -f '\${Status}' nodemaint)" != 'deinstall ok config-files' ]
${IS_HELD}
touch ${GO}`;

describe('the .deb on a real machine', () => {
  let folder: string;
  let machine: Machine;
  let files: string;
  let delay: string;

  before(async () => {
    const { signal } = new AbortController();
    folder = await makeTestFolder('package-machine');
    const { first, next } = await makeDebPair(folder, signal);
    const install = async (booted: Machine): Promise<void> => {
      files = await booted.must(ALL_FILES);
      delay = await booted.must(DELAY);
      await booted.copy({ '/var/tmp/first.deb': first, '/root/next.deb': next });
      await booted.must('mkdir /etc/nodemaint && cat > /etc/nodemaint/config.yaml', { input: CONFIG });
      const said = await booted.must('dpkg -i /var/tmp/first.deb', OPTIONS);
      assert.match(said, /is installed, runs, and holds the lock/);
    };
    machine = await standaloneNode({ stopSec: 4, low: { stopsAt: 'go', graceSec: 900 }, install }, signal);
  });

  after(async () => {
    await machine?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('the agent of the .deb runs, and holds the lock as logind lists it', async (t) => {
    const versions =
      '. /etc/os-release; echo "$PRETTY_NAME"; systemctl --version | head -n 1; containerd --version; runc --version | head -n 1; systemctl show -P Id dbus.service; uname -r';
    t.diagnostic(await machine.must(versions));
    t.diagnostic(await machine.must('systemd-inhibit --list --no-pager | cat'));
    await machine.must(IS_HELD);
  });

  it('the .deb is upgraded in the middle of a drain: the lock is held all the time, and the drain goes on', async (t) => {
    const name = 'the .deb is upgraded';
    const before = `rm -f ${GO} /root/lock; nohup sh -c '${WATCH_LOCK.replaceAll("'", "'\\''")}' > /dev/null 2>&1 < /dev/null &`;
    t.diagnostic(
      await runCase(machine, { name, before, begin: 'systemctl reboot', meanwhile: UPGRADE, ends: 'reboot' }),
    );
    const samples = (await machine.must('cat /root/lock')).trim().split('\n');
    t.diagnostic(`the lock was held at ${samples.length} looks`);
    assert.ok(samples.length > 10);
    assert.deepEqual(new Set(samples), new Set(['held']));
    // dpkg remembers that the refused removal was wanted; the package is whole.
    assert.equal(
      await machine.must(['dpkg-query', '-W', '-f', '${Version} ${Status}', 'nodemaint']),
      `${NEXT_VERSION} deinstall ok installed`,
    );
  });

  it('the .deb is removed and purged, and leaves nothing', async () => {
    await machine.must('dpkg -r nodemaint', OPTIONS);
    assert.notEqual((await machine.ssh(IS_HELD)).code, 0);
    await machine.must(
      'test -e /etc/nodemaint/config.yaml && ! test -e /usr/lib/nodemaint && ! test -e /usr/libexec/nodemaint',
    );
    await machine.must('dpkg -P nodemaint && rm /root/next.deb /root/lock /root/refused', OPTIONS);
    assert.equal(await machine.must(ALL_FILES), files);
    await waitOnMachine(machine, `[ "$(${DELAY})" = '${delay.trim()}' ]`, 30_000);
    await machine.must('! systemctl cat nodemaint.service');
  });
});
