/**
 * The agent on other systems than Debian 12 with its dbus-daemon, each with its own systemd, logind and bus in a container: the
 * .deb is installed, a restart of the bus is survived, a reboot is held until the drain has ended, the package leaves nothing.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { makeTestFolder } from '../support/folder.ts';
import { makeDebPair } from '../support/packages.ts';
import { waitFor } from '../support/wait-for.ts';
import { SHARE, startOtherContainer, type SystemContainer } from '../systemd/container.ts';
import { ENDLESS_POD, startDemoRuntimeUnit } from '../systemd/demo-runtime.ts';
import { systemRoot } from '../systemd/roots.ts';
import type { Debian } from '../systemd/debian.ts';

type Bus = 'dbus-broker' | 'dbus-daemon';
const SYSTEMS: readonly (readonly [Debian, Bus])[] = [
  ['12', 'dbus-broker'],
  ['13', 'dbus-daemon'],
  ['unstable', 'dbus-daemon'],
  ['unstable', 'dbus-broker'],
];

const CONFIG = `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
kubeconfig: ''
kubeletHealthz: ''
`;
const PARKED = '/etc/kubernetes/nodemaint-parked/web.json';
const ALL_FILES =
  'find /etc /usr /opt /srv /root /var/lib /var/cache -xdev ! -path "/var/lib/dpkg/*" ! -path "/var/lib/systemd/*" | sort';
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep -q "^nodemaint .*delay"';
const VERSIONS =
  '. /etc/os-release; echo "$PRETTY_NAME"; systemctl --version | head -n 1; systemctl show -P Id dbus.service';
const IS_OFF = 'nodemaint status | grep -q "logind is not on the bus"';
const IS_PREPARING =
  'busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PreparingForShutdown | grep -q true';
const WATCH_LOCK = `while :; do if ${IS_HELD}; then echo held; else echo lost; fi >> /root/lock; test -e /root/stop && exit; sleep 0.3; done`;
const WAIT_MS = 180_000;

/** Waits in the container, at most a minute. */
const until = (what: string): string => `for i in $(seq 200); do if ${what}; then exit 0; fi; sleep 0.3; done; exit 1`;

async function installFirst(container: SystemContainer): Promise<void> {
  await container.must('mkdir -p /etc/nodemaint /etc/kubernetes/manifests; cat > /etc/nodemaint/config.yaml', CONFIG);
  assert.match(await container.must(`dpkg -i ${SHARE}/first.deb`), /is installed, runs, and holds the lock/);
}

/** Restarts the bus while the agent holds a reboot: the lock and the reboot are back, and nothing is put back meanwhile. */
async function restartBusInMidDrain(container: SystemContainer): Promise<void> {
  await container.must('systemctl restart dbus && sleep 5');
  await container.must(until(`${IS_HELD} || ${IS_OFF}`));
  await container.must(`! ${IS_OFF} || systemctl restart systemd-logind`);
  await container.must(until(`${IS_HELD} && ${IS_PREPARING} && nodemaint status -o json | grep -q draining`));
  await container.must(`test -e ${PARKED}`);
}

function addTests(debian: Debian, bus: Bus, folder: () => string): void {
  describe(`Debian ${debian} with ${bus}`, () => {
    let container: SystemContainer;
    let disk: string;

    before(async () => {
      const { signal } = new AbortController();
      disk = path.join(folder(), `${debian}-${bus}`);
      await mkdir(disk);
      container = await startOtherContainer({ root: await systemRoot(debian, signal), share: folder(), disk }, signal);
      if (bus === 'dbus-daemon') return;
      await container.must(
        `systemctl enable ${bus} && systemctl daemon-reload && systemctl stop dbus && systemctl start dbus`,
      );
      await container.must('systemctl restart systemd-logind');
    });

    after(async () => {
      await container?.[Symbol.asyncDispose]();
    });

    it('the .deb is installed, the lock is listed by logind, and after its removal nothing is left', async (t) => {
      t.diagnostic((await container.must(VERSIONS)).trim().replaceAll('\n', '; '));
      await container.must('mkdir -p /etc/kubernetes/manifests');
      const before = await container.must(ALL_FILES);
      await installFirst(container);
      await container.must(IS_HELD);
      t.diagnostic(await container.must('systemd-inhibit --list --no-pager --no-legend'));
      t.diagnostic(
        await container.must(
          'systemctl show -P StatusText nodemaint; journalctl -b -u nodemaint -p warning -o cat --no-pager',
        ),
      );
      await container.must(`dpkg -P nodemaint && ! ${IS_HELD}`);
      assert.equal(await container.must(ALL_FILES), before);
    });

    it('the agent survives a restart of the bus, and says it where logind does not', async (t) => {
      await installFirst(container);
      await container.must('systemctl restart dbus && sleep 5');
      await container.must(until(`${IS_HELD} && nodemaint status > /dev/null || ${IS_OFF}`));
      t.diagnostic((await container.run(IS_OFF)).code === 0 ? 'logind is not on the bus' : 'logind is on the bus');
      await container.must('systemctl restart systemd-logind');
      await container.must(until(`${IS_HELD} && nodemaint status | grep -q "lock held"`));
    });

    it('the agent holds a reboot until the drain has ended, through an upgrade of the .deb and a restart of the bus in the middle of it', async (t) => {
      await container.must('cat > /etc/kubernetes/manifests/web.json', ENDLESS_POD);
      await startDemoRuntimeUnit(container, 'pods', '/etc/kubernetes/manifests');
      await container.must('systemctl reboot');
      await container.must(until(`test -e ${PARKED}`));
      const watched = container.run(WATCH_LOCK);
      await container.must(`dpkg -i ${SHARE}/next.deb`);
      await container.must('touch /root/stop');
      await watched;
      const looks = (await container.must('cat /root/lock')).trim().split('\n');
      t.diagnostic(`the lock was held at ${looks.length} looks`);
      assert.deepEqual(new Set(looks), new Set(['held']));
      await container.must(`tail -n 1 /usr/lib/nodemaint/nodemaint.cjs | grep -q "// next" && test -e ${PARKED}`);
      await container.must(until('nodemaint status -o json | grep -q draining'));
      assert.equal(container.hasEnded(), false);

      await restartBusInMidDrain(container);

      await container.must('systemctl stop pods');
      await startDemoRuntimeUnit(container, 'empty', '/root/none');
      await waitFor('the machine goes down', () => Promise.resolve(container.hasEnded()), { timeoutMs: WAIT_MS }).catch(
        async (error: unknown) => {
          throw new Error((await container.run('nodemaint status; systemctl list-jobs')).stdout, { cause: error });
        },
      );
      // What journalctl follows in the container may end some lines before the machine does.
      const journal = ['--directory', path.join(disk, 'changes', 'var', 'log', 'journal'), '--unit', 'nodemaint'];
      const { stdout } = await promisify(execFile)('journalctl', [...journal, '--output', 'cat', '--no-pager']);
      t.diagnostic(
        stdout
          .split('\n')
          .filter((line) => /ShutdownHeld|ShutdownReleased|parked manifest|lost the bus|logind/.test(line))
          .join('\n'),
      );
      assert.match(stdout, /ShutdownReleased/);
    });
  });
}

describe('the agent on other systems', () => {
  let folder: string;

  before(async () => {
    folder = await makeTestFolder('systems');
    const { first } = await makeDebPair(folder, new AbortController().signal);
    await rename(first, path.join(folder, 'first.deb'));
  });

  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  for (const [debian, bus] of SYSTEMS) addTests(debian, bus, () => folder);
});
