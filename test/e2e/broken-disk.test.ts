/**
 * A real machine whose only disk is full, or has become read-only, goes down: its pods end in order, it is let go, and
 * after the boot everything is back. Nothing that is logged meanwhile reaches the disk, so the serial console tells.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { controlPlaneBinaries } from '../control-plane/binaries.ts';
import { machineImage } from './machine/image.ts';
import { installAgent } from './machine/install.ts';
import { startKubelet } from './machine/kube-node.ts';
import { bootMachine, type Machine } from './machine/machine.ts';
import { allBack } from './machine/shutdown-case.ts';
import { MANIFESTS, writeStaticPods } from './machine/standalone-node.ts';
import { startWitness, WITNESS, witnessedIn } from './machine/witness.ts';

const STOP_SEC = 4;
const DOWN_MS = 420_000;
const FILLER = '/filler';

/** What a person would do about the disk before anything else is started. */
const REPAIR_UNIT = `[Unit]
DefaultDependencies=no
After=systemd-remount-fs.service
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/rm -rf ${FILLER}
[Install]
WantedBy=sysinit.target
`;

/** How the disk breaks: command lines that end when it takes no write any more. */
const WAYS = {
  full: [
    `mkdir -p ${FILLER}`,
    `for unit in G M K; do i=0; while fallocate -l 1$unit ${FILLER}/$unit$i 2>/dev/null; do i=$((i + 1)); done; done`,
    // What the blocks of the last files have left.
    `sync; ! dd if=/dev/zero of=${FILLER}/probe bs=8k count=1 conv=fsync 2>/dev/null`,
  ].join('; '),
  // What a kernel does to a file system with errors.
  'read-only': 'sync; echo u > /proc/sysrq-trigger; until ! touch /probe 2>/dev/null; do sleep 1; done',
} as const;

/** A node that stands alone, whose witness and log need no disk. */
async function startNode(signal: AbortSignal): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await bootMachine(await machineImage(signal), {}, signal));
  const { kubelet } = await controlPlaneBinaries(signal);
  await machine.must(
    `mkdir -p ${WITNESS} && echo 'tmpfs ${WITNESS} tmpfs defaults 0 0' >> /etc/fstab && mount ${WITNESS}`,
  );
  await machine.must('cat > /etc/systemd/system/repair.service', { input: REPAIR_UNIT });
  await machine.must('systemctl daemon-reload && systemctl enable repair');
  await startKubelet(machine, { kubelet, name: 'node-a' });
  await startWitness(machine);
  // The machine's boots make the folder anew, and the log with it.
  const log = `[Service]\nExecStartPre=/bin/sh -c ': >> ${WITNESS}/log'\n[Unit]\nRequiresMountsFor=${WITNESS}\n`;
  const dropIn = '/etc/systemd/system/witness.service.d';
  await machine.must(`mkdir -p ${dropIn} && cat > ${dropIn}/log.conf && systemctl daemon-reload`, { input: log });
  await writeStaticPods(machine, STOP_SEC);
  await installAgent(machine, ['--standalone']).catch(async (error: unknown) => {
    const said = await machine.ssh('systemctl status nodemaint --no-pager; journalctl -b -n 80 --no-pager; ps axf');
    throw new Error(said.stdout, { cause: error });
  });
  await machine.must("printf 'ForwardToConsole=yes\\nTTYPath=/dev/ttyS0\\n' >> /etc/systemd/journald.conf.d/test.conf");
  await machine.must('systemctl restart systemd-journald');
  await allBack(machine);
  stack.move();
  return machine;
}

/** The lines of the console since it had `from` characters, without the terminal's own. */
async function consoleSince(machine: Machine, from: number): Promise<readonly string[]> {
  return (await machine.serial())
    .slice(from)
    .split(/\r?\n/)
    .map((line) => line.trimEnd());
}

const AGENT_LINE = /nodemaint|systemd-inhibit|reboot: /;

async function goThrough(t: TestContext, machine: Machine, breakDisk: string): Promise<void> {
  const manifests = await machine.must(MANIFESTS);
  const from = (await machine.serial()).length;
  await machine.must(breakDisk, { timeoutMs: 300_000 });
  const bootId = await machine.bootId();
  const startedAt = performance.now();
  await machine.ssh('systemctl reboot');
  await machine.waitForReboot(bootId, DOWN_MS).catch(async (error: unknown) => {
    const status = await machine.ssh('nodemaint status; ctr -n k8s.io tasks ls; ps axf | tail -40').catch(String);
    const told = (await consoleSince(machine, from)).slice(-300).join('\n');
    throw new Error(`${JSON.stringify(status)}\n${told}`, { cause: error });
  });
  const lines = await consoleSince(machine, from);
  t.diagnostic(`down and up again ${Math.round((performance.now() - startedAt) / 1000)} s after systemctl reboot`);
  const shutdown = lines.slice(
    0,
    lines.findIndex((line) => /reboot: Restarting system/.test(line)),
  );
  for (const line of shutdown.filter((each) => AGENT_LINE.test(each))) t.diagnostic(line.slice(0, 400));
  assert.deepEqual(witnessedIn(shutdown), ['low TERM', 'low END', 'high TERM', 'high END']);
  const released = shutdown.findIndex((line) => line.includes('ShutdownReleased'));
  assert.ok(released > shutdown.findIndex((line) => line.endsWith(': high END')), 'released when all had ended');
  assert.match(shutdown.join('\n'), /StateNotSaved.*(?:ENOSPC|EROFS)/);
  await allBack(machine);
  assert.equal(await machine.must(MANIFESTS), manifests);
  t.diagnostic(await machine.must('nodemaint status; journalctl -u nodemaint -b --no-pager -o cat | tail -20'));
}

describe('the shutdown of a machine whose disk takes no write', () => {
  let machine: Machine;

  before(async () => {
    machine = await startNode(new AbortController().signal);
  });

  after(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  for (const [how, breakDisk] of Object.entries(WAYS)) {
    it(`the machine goes down in order and comes back whole when its disk is ${how}`, (t) =>
      goThrough(t, machine, breakDisk));
  }
});
