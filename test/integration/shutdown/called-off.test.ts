/** A shutdown that logind prepares is called off: a real logind, and an agent that holds its lock. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../../control-plane/process.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { type Logind, startLogind } from '../../logind/rig.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { buildEvictionRig } from '../../support/rigs/eviction.ts';
import { drainedOf, startMachines } from '../../support/rigs/reboots.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const LOGIND_UNIT = 'systemd-logind.service';
/** User and group nobody of every Debian. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A machine whose agent has no cluster: its drain waits for containers that no runtime shows. */
interface Machine extends AsyncDisposable {
  readonly logind: Logind;
  readonly host: HostClients;
  /** How often the stand-in for systemd has restarted logind. */
  restarts(): number;
  /** Runs `nodemaint VERB` for this machine, as root or as another user. */
  say(words: readonly string[], by?: typeof NOBODY): Promise<{ stdout: string; stderr: string; code: number }>;
  untilPhase(kind: string): Promise<void>;
  /** Waits until the record on the disk names logind: an agent that is killed before does not know that it did. */
  untilNamed(): Promise<void>;
  killAgent(): Promise<void>;
  startAgent(): Promise<void>;
  readonly configFile: string;
  log(): Promise<string>;
}

async function startMachine(signal: AbortSignal, kubeconfig = ''): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('called-off');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 600 }, signal));
  let restarts = 0;
  const start = async (): Promise<void> => {
    restarts += 1;
    await logind.restartLogind('SIGTERM');
  };
  logind.standIn.units.set(LOGIND_UNIT, { active: true, start, stop: () => logind.stopLogind() });
  const host = stack.use(connectHost(logind));
  const manifests = path.join(folder, 'manifests');
  await mkdir(manifests);
  const { configFile, runDirectory, bootIdPath } = await writeAgentFiles(folder, {
    nodeName: 'n',
    lock: 'unit',
    kubeconfig,
  });
  await writeFile(bootIdPath, 'n-boot-0');
  const [logFile, record] = [path.join(folder, 'agent.log'), path.join(folder, 'state', 'record.json')];
  let program: Program | undefined;
  stack.defer(() => program?.stop());
  const owned = stack.move();
  return {
    logind,
    host,
    restarts: () => restarts,
    say: (words, by) => runNodemaint([...words, '--run-directory', runDirectory], by),
    untilNamed: () =>
      waitFor('the record names logind', async () => (await readFile(record, 'utf8')).includes('namedBy')),
    untilPhase: (kind) =>
      waitFor(`the agent is ${kind}`, async () => (await readAgentStatus(runDirectory)).phase.kind === kind),
    killAgent: async () => {
      program?.kill('SIGKILL');
      await waitFor('the agent is gone', () => program?.exited() !== false);
    },
    startAgent: async () => {
      program = startNodemaint(['agent', '--config', configFile], logFile, { DBUS_SYSTEM_BUS_ADDRESS: logind.address });
      const answers = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).lock.held;
      await waitFor('the agent holds the lock', answers, { program });
    },
    configFile,
    log: () => readFile(logFile, 'utf8'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A machine whose reboot is held. */
async function heldMachine(
  t: TestContext,
  ask = (logind: Logind): Promise<unknown> => logind.reboot(),
): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await startMachine(t.signal));
  await machine.startAgent();
  await ask(machine.logind);
  await machine.untilPhase('draining');
  stack.move();
  return machine;
}

/** Waits until nothing is left of the shutdown, and looks for a while whether anything asks for it again. */
async function assertOver(t: TestContext, machine: Machine, restarts = 1): Promise<void> {
  await machine.untilPhase('watching');
  assert.equal(await machine.host.login1.preparingForShutdown(t.signal), false);
  assert.equal(machine.restarts(), restarts);
  await delay(3_000);
  assert.equal(await machine.host.login1.preparingForShutdown(t.signal), false, 'nothing asks for it again');
  assert.deepEqual(machine.logind.startedTargets(), []);
  const isHeld = (await machine.host.login1.listInhibitors(t.signal)).some(({ who }) => who === 'nodemaint');
  assert.ok(isHeld, 'the lock is held');
  await machine.untilPhase('watching');
}

describe('a shutdown that logind prepares', () => {
  it('is called off by "nodemaint cancel", twice, and everything that shows it says so', async (t) => {
    await using machine = await heldMachine(t);
    const first = await machine.say(['cancel']);
    assert.match(first.stdout, /The shutdown is canceled; the agent puts back what it took away/, first.stderr);
    const second = await machine.say(['cancel']);
    assert.match(`${second.stdout}${second.stderr}`, /canceled already|No shutdown is announced|moved on/);
    await assertOver(t, machine);
    const log = await machine.log();
    assert.match(log, /"transition":"cancel".*"canceledBy":"root"/);
    assert.match(log, /The shutdown of node n was called off by root/);
    assert.match((await machine.say(['status'])).stdout, /waiting for a shutdown/);
    const status = JSON.parse((await machine.say(['status', '-o', 'json'])).stdout) as {
      lastShutdown?: { result: string };
    };
    assert.equal(status.lastShutdown?.result, 'canceled');
    const report = await runNodemaint(['report', '--config', machine.configFile]);
    assert.match(report.stdout, /the shutdown was called off: by root/, report.stderr);
    const history = await runNodemaint(['history', '--config', machine.configFile]);
    assert.match(history.stdout, /called off/, history.stderr);
  });

  for (const [what, ask] of [
    ['that was asked for at once', (logind: Logind) => logind.reboot()],
    [
      'whose time has come',
      (logind: Logind) => logind.call('ScheduleShutdown', 'st', ['reboot', BigInt(Date.now() + 500) * 1000n]),
    ],
  ] as const) {
    it(`${what} is called off by "shutdown -c"`, async (t) => {
      await using machine = await heldMachine(t, ask);
      await machine.logind.call('CancelScheduledShutdown', '', []);
      await assertOver(t, machine);
      assert.match(await machine.log(), /was called off, logind does not prepare it any more/);
    });
  }

  it('stays called off when the agent is killed right after it was told, and one that comes then is held', async (t) => {
    await using machine = await heldMachine(t);
    assert.equal((await machine.say(['cancel'])).code, 0);
    await machine.killAgent();
    await machine.startAgent();
    await assertOver(t, machine);
    await machine.logind.reboot();
    await machine.untilPhase('draining');
    assert.equal(await machine.host.login1.preparingForShutdown(t.signal), true);
  });

  it('is called off by "shutdown -c" while no agent runs', async (t) => {
    await using machine = await heldMachine(t);
    await machine.untilNamed();
    await machine.killAgent();
    await machine.logind.call('CancelScheduledShutdown', '', []);
    await machine.startAgent();
    await assertOver(t, machine);
  });

  it('is not called off by another user than root, nor by anybody once the lock is released', async (t) => {
    await using machine = await heldMachine(t);
    const other = await machine.say(['cancel'], NOBODY);
    assert.match(other.stderr, /no agent answers at .*control\.sock \(connect EACCES.*are you root\?/);
    assert.equal((await machine.say(['release', '--reason', 'now', '--yes'])).code, 0);
    await machine.untilPhase('released');
    const late = await machine.say(['cancel']);
    assert.match(late.stderr, /it is too late, the machine has been let go/);
    await waitFor('logind goes on', () => machine.logind.startedTargets().length > 0);
    assert.equal(machine.restarts(), 0);
  });
});

/** The pod of a node that a budget keeps. */
const KEPT = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'kept', namespace: 'default', labels: { app: 'kept' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'none.invalid/none' }] },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'kept', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'kept' } } },
  },
];

describe('a reboot in a cluster with a limit', () => {
  it('is called off while it waits for its turn, and in its turn, and gives back what it took', async (t) => {
    await using rig = await buildEvictionRig({}, t.signal);
    await using machines = await startMachines(rig, ['busy', 'n']);
    for (const object of KEPT) await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    const flags = ['--kubeconfig', rig.controllerKubeconfig, '--max-parallel-reboots', '1'];
    await using controller = startNodemaint(['controller', ...flags], path.join(rig.folder, 'controller.log'));
    const kubeconfig = await rig.controlPlane.kubeconfigFor('system:node:n', ['system:nodes']);
    await using machine = await startMachine(t.signal, kubeconfig);
    await machine.startAgent();
    const sayDrained = async (node: string): Promise<string> => {
      const { maintenances } = await machines.look();
      return drainedOf(maintenances.find(({ metadata }) => metadata.name.startsWith(`shutdown-${node}-`)));
    };
    const isCordoned = async (name = 'n'): Promise<boolean> =>
      (await machines.look()).nodes.some(
        ({ metadata, spec }) => metadata.name === name && spec?.unschedulable === true,
      );
    const isGivenBack = async (): Promise<boolean> => {
      const { maintenances } = await machines.look();
      const isOpen = maintenances.some(({ metadata, spec }) => {
        return metadata.name.startsWith('shutdown-n-') && spec.stage === 'Drain';
      });
      return !isOpen && !(await isCordoned());
    };
    const assertCanceled = async (restarts: number): Promise<void> => {
      await assertOver(t, machine, restarts);
      await waitFor('everything is given back', isGivenBack, { ...SLOW, program: controller });
      const { stdout } = await machine.say(['status', '-o', 'json']);
      assert.equal((JSON.parse(stdout) as { lastShutdown?: { result: string } }).lastShutdown?.result, 'canceled');
    };

    machines.lost.add('busy');
    await machines.reboot(['busy']);
    const hasTurn = (): Promise<boolean> => isCordoned('busy');
    await waitFor('another machine has the turn', hasTurn, { ...SLOW, program: controller });
    await machine.logind.reboot();
    const waits = async (): Promise<boolean> => (await sayDrained('n')).startsWith('WaitingForTurn');
    await waitFor('the machine waits for its turn', waits, { ...SLOW, program: controller });
    assert.match((await machine.say(['status'])).stdout, /its turn to reboot/);
    assert.equal(await isCordoned(), false);
    const said = await machine.say(['cancel']);
    assert.match(said.stdout, /The shutdown is canceled/, said.stderr);
    await assertCanceled(1);

    machines.lost.delete('busy');
    await waitFor('the other machine is back', () => machines.boots.get('busy') === 1, SLOW);
    await machine.logind.reboot();
    await waitFor('the machine has its turn', () => isCordoned(), { ...SLOW, program: controller });
    await machine.logind.call('CancelScheduledShutdown', '', []);
    await assertCanceled(2);
  });
});
