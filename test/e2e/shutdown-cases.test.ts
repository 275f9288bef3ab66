/**
 * Every way down of a real machine, and what may happen in the middle of it: one machine, one case after the other. The
 * node stands alone: two static pods, the real kubelet, no API server. Each case takes a minute or two: only
 * NODEMAINT_TESTS=all runs them, and `--test-name-pattern` chooses among them. The gate has the two ways in which a
 * shutdown reaches the agent, in reboot-all.test.ts. NODEMAINT_E2E_DEBIAN=13 takes a machine of that release.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chosenDebian } from './machine/image.ts';
import type { Machine } from './machine/machine.ts';
import { runCase, type ShutdownCase } from './machine/shutdown-case.ts';
import { standaloneNode } from './machine/standalone-node.ts';

const AGENT_DROP_IN = '/etc/systemd/system/nodemaint.service.d';
const HOLDER_DROP_IN = '/etc/systemd/system/nodemaint-inhibitor.service.d';
const RESTART = 'systemctl restart --no-block';

const WAYS_DOWN: readonly ShutdownCase[] = [
  { name: 'systemctl reboot', begin: 'systemctl reboot', ends: 'reboot', says: /node reboot/ },
  { name: 'systemctl poweroff', begin: 'systemctl poweroff', ends: 'off', says: /node poweroff/ },
  { name: 'systemctl halt', begin: 'systemctl halt', ends: 'halt', says: /node halt/ },
  { name: 'shutdown -r now', begin: 'shutdown -r now', ends: 'reboot', says: /node reboot/ },
  {
    name: 'systemctl start reboot.target, past logind',
    begin: 'systemctl start --no-block reboot.target',
    ends: 'reboot',
    says: /unit-stop.*node reboot|node reboot.*unit-stop/,
  },
  {
    name: 'reboot -ff, which asks nobody',
    begin: 'nohup sh -c "sleep 1; reboot -ff" >/dev/null 2>&1 &',
    ends: 'reboot undrained',
    says: /went down without asking anybody/,
  },
  { name: 'init 6', begin: 'init 6', ends: 'reboot' },
  {
    // After a boot: at a reload systemd forgets that it would stop the pods, and then even the wrong order is right.
    name: 'Ctrl-Alt-Del',
    begin: (machine) => machine.ctrlAltDel(),
    ends: 'reboot',
    says: /node reboot/,
  },
  {
    name: 'systemctl kexec',
    before: 'kexec -l /boot/vmlinuz-* --initrd=$(ls /boot/initrd.img-*) --reuse-cmdline',
    begin: 'systemctl kexec',
    ends: 'reboot',
    says: /node kexec/,
  },
  {
    name: 'the power button',
    begin: (machine) => machine.powerButton(),
    ends: 'off',
    // logind 252 does not tell what a button asks for.
    says: /node (?:shutdown|poweroff)/,
  },
  {
    name: 'shutdown +1 with a lead, then -c',
    before: 'echo "scheduledShutdownLeadSec: 120" >> /etc/nodemaint/config.yaml && systemctl restart nodemaint',
    begin: 'shutdown -r +1',
    meanwhile: 'shutdown -c',
    ends: 'called off',
    says: /ShutdownCanceled/,
    after: 'sed -i /scheduledShutdownLeadSec/d /etc/nodemaint/config.yaml && systemctl restart nodemaint',
  },
];

const IN_MID_DRAIN: readonly ShutdownCase[] = [
  {
    name: 'the agent is killed',
    meanwhile: 'systemctl kill --kill-who=main -s KILL nodemaint',
    begin: '',
    ends: 'reboot',
  },
  { name: 'the agent is restarted', meanwhile: `${RESTART} nodemaint`, begin: '', ends: 'reboot' },
  {
    name: 'the agent is upgraded',
    meanwhile: 'nohup /root/nodemaint/install.sh --standalone > /root/upgrade.log 2>&1 &',
    begin: '',
    ends: 'reboot',
  },
  { name: 'D-Bus is restarted', meanwhile: 'systemctl restart dbus', begin: '', ends: 'reboot' },
  {
    name: 'logind is restarted',
    meanwhile: 'systemctl restart systemd-logind',
    begin: '',
    ends: 'reboot',
    says: /has forgotten the shutdown/,
  },
  { name: 'the kubelet is restarted', meanwhile: 'systemctl restart kubelet', begin: '', ends: 'reboot' },
  { name: 'containerd is restarted', meanwhile: `${RESTART} containerd`, begin: '', ends: 'reboot' },
].map((one) => ({ ...one, begin: 'systemctl reboot', ends: 'reboot' as const }));

const DEAD_MAN: ShutdownCase = {
  name: 'the agent stands still, and its lock gives way',
  before: `mkdir -p ${HOLDER_DROP_IN} && printf '[Service]\\nEnvironment=NODEMAINT_DEAD_MAN_SEC=10 NODEMAINT_CHECK_SEC=5\\n' > ${HOLDER_DROP_IN}/short.conf && systemctl daemon-reload && systemctl restart nodemaint-inhibitor`,
  begin: 'systemctl kill --kill-who=main -s STOP nodemaint && systemctl reboot',
  ends: 'reboot',
  says: /no sign of life from the agent for 10 s/,
  after: `rm -r ${HOLDER_DROP_IN} && systemctl daemon-reload`,
};

/** Takes all numbers of processes for longer than the agent may be silent, and reboots when none is left. */
const FORK_BOMB = `my $full = sub { open my $kmsg, ">", "/dev/kmsg"; print $kmsg "<4>fork bomb: $_[0]\\n"; close $kmsg };
open my $max, ">", "/proc/sys/kernel/pid_max"; print $max "2000\\n"; close $max;
for (;;) { my $pid = fork; last unless defined $pid; unless ($pid) { sleep 120; exit } }
$full->("no process can be made");
exec "systemctl", "reboot";`;

/** So short that an agent or a lock that needs a process for its sign of life would not outlast the bomb. */
const SHORT_PATIENCE = `mkdir -p ${HOLDER_DROP_IN} ${AGENT_DROP_IN} && printf '[Service]\\nEnvironment=NODEMAINT_DEAD_MAN_SEC=60 NODEMAINT_CHECK_SEC=5\\n' > ${HOLDER_DROP_IN}/short.conf && printf '[Service]\\nWatchdogSec=60\\n' > ${AGENT_DROP_IN}/short.conf && systemctl daemon-reload && systemctl restart nodemaint`;

/**
 * The runtime cannot send a signal then, and containerd 1.6 does not make up for it later: the pod whose turn it is gets its
 * time to end, and is killed after that.
 */
const NO_PROCESSES: ShutdownCase = {
  name: 'no process can be made for two minutes',
  before: `cat > /root/bomb.pl <<'BOMB'\n${FORK_BOMB}\nBOMB\n${SHORT_PATIENCE}`,
  begin: 'systemd-run --quiet --collect -p TasksMax=infinity -p KillMode=process perl /root/bomb.pl',
  ends: 'reboot',
  says: /^(?![^]*(?:Watchdog timeout|no sign of life))[^]*fork bomb: no process can be made[^]*ShutdownHeld[^]*ShutdownReleased/,
  orderBy: 'agent',
  after: `rm -r ${HOLDER_DROP_IN} ${AGENT_DROP_IN}/short.conf && systemctl daemon-reload`,
};

/** What only newer systemd has. */
const SOFT_REBOOT: ShutdownCase = {
  name: 'systemctl soft-reboot',
  begin: 'systemctl soft-reboot',
  ends: 'soft-reboot',
  says: /node soft-reboot/,
};

const ALL = [...WAYS_DOWN, ...IN_MID_DRAIN, DEAD_MAN, NO_PROCESSES, ...(chosenDebian() === '13' ? [SOFT_REBOOT] : [])];

describe('a real machine goes down', () => {
  let machine: Machine;

  before(async () => {
    machine = await standaloneNode(new AbortController().signal);
  });

  after(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  it('nodemaint doctor finds no fault on the machine', async (t) => {
    const { stdout, code } = await machine.ssh('nodemaint doctor', { timeoutMs: 180_000 });
    t.diagnostic(stdout);
    assert.equal(code, 0, stdout);
    const status = await machine.must('nodemaint status; systemctl status nodemaint --no-pager | head -8', {
      timeoutMs: 120_000,
    });
    t.diagnostic(status);
    assert.match(status, /at most 7d \(\/etc\/systemd\/logind\.conf\.d\/zz-nodemaint\.conf\); 3m0s if the agent stops/);
  });

  for (const shutdown of ALL) {
    const title = WAYS_DOWN.includes(shutdown)
      ? 'the machine goes down in order by'
      : 'the machine goes down in order, in mid-drain:';
    it(`${title} ${shutdown.name}`, async (t) => {
      t.diagnostic(await runCase(machine, shutdown));
    });
  }
});
