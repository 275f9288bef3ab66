import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createWakeup } from '../../../src/agent/iteration/wakeup.ts';
import {
  type Foundation,
  kubeletUnitOf,
  type MachineAccess,
  type Opened,
  openMachine,
  openParts,
  watchMachine,
} from '../../../src/agent/parts.ts';
import { createLockReconciler } from '../../../src/agent/shutdown/inhibitor-lock.ts';
import { findStaticPods } from '../../../src/agent/static-pods/find-directory.ts';
import { ManualRequests } from '../../../src/agent/static-pods/manual-requests.ts';
import { loadAgentConfig } from '../../../src/config/load.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import type { SystemBus } from '../../../src/host/dbus/bus.ts';
import { createNoLock } from '../../../src/host/systemd/inhibitor-unit.ts';
import type { Login1 } from '../../../src/host/systemd/logind.ts';
import type { Systemd } from '../../../src/host/systemd/manager.ts';
import type { ClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { DRAINING } from '../../support/agent/phase-facts.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { openTestState } from '../../support/agent/state.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const ACCESS: ClusterAccess = {
  server: new URL('https://api.example:6443/prefix'),
  authenticate: () => assert.fail('the API server is asked'),
};

/** The parts of an agent without a host, which starts in the boot `boot-1` with this phase. */
async function open(t: TestContext, phase: Phase, access?: ClusterAccess): Promise<Opened> {
  const folder = await temporaryFolder(t, 'parts');
  await mkdir(path.join(folder, 'manifests'));
  const config = await loadAgentConfig((await writeAgentFiles(folder)).configFile);
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const end = new AbortController();
  const { signal } = end;
  const machine = openMachine(config, {}, { clock, log }, signal);
  const state = await openTestState(config.stateDirectory);
  const find = (): Promise<undefined> => Promise.resolve(undefined);
  const located = await findStaticPods({ config, state, find, log }, 'node-a', signal);
  const readMachineFacts = (): never => assert.fail('the firmware is asked');
  const readDoctor = (): never => assert.fail('the checks are run');
  const foundation: Foundation = {
    config,
    clock,
    log,
    readMachineFacts,
    readDoctor,
    nodeName: 'node-a',
    api: access && { access, client: createKubeClient(access, 'test') },
    machine,
    lock: createLockReconciler({ kind: 'none', lock: createNoLock(), host: undefined, clock, log }),
    state,
    wakeup: createWakeup(clock),
    bootId: 'boot-1',
    record: { phase, offlineTargets: [] },
    locator: await located.open(),
    manual: new ManualRequests(),
    signal,
    living: signal,
  };
  const opened = await openParts(foundation);
  t.after(() => {
    end.abort();
    opened.parts.cluster?.client.close();
    machine.runtime.close();
  });
  return opened;
}

describe("the agent's parts", () => {
  it('a node without a cluster has no client and no Events, and without systemd nobody ends its pods', async (t) => {
    const { parts, events } = await open(t, { kind: 'watching' });
    assert.deepEqual([parts.cluster, events], [undefined, undefined]);
    assert.match(parts.offlinePods.whyNone() ?? '', /"lock" is "none"/);
    assert.deepEqual([parts.nodeName, parts.bootId], ['node-a', 'boot-1']);
  });

  it('the parts of a cluster are created without asking it', async (t) => {
    const { parts, events } = await open(t, { kind: 'watching' }, ACCESS);
    assert.equal(parts.cluster?.access, ACCESS);
    assert.ok(events !== undefined);
    assert.equal(parts.cluster.maintenances.synced(), false);
  });

  it('a trigger outlives a restart of the agent, and ends with the boot', async (t) => {
    const readAs = async (phase: Phase): Promise<object> => {
      const { parts } = await open(t, phase);
      return await parts.detector.read({}, AbortSignal.timeout(60_000));
    };
    const phase: Phase = { ...DRAINING, origin: 'trigger', reason: 'power' };
    const yes = { kind: 'yes', origin: 'trigger', reason: 'power' };
    assert.deepEqual(await readAs(phase), yes);
    assert.deepEqual(await readAs({ ...phase, kind: 'released', releasedAt: 1 }), yes);
    const no = { kind: 'no' };
    assert.deepEqual(await readAs({ ...phase, bootId: 'boot-0' }), no);
    assert.deepEqual(await readAs({ ...phase, origin: 'logind' }), no);
    assert.deepEqual(await readAs({ ...phase, kind: 'recovering', cause: 'canceled' }), no);
  });
});

function configOf(more: string): AgentConfig {
  const text = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
  return parseAgentConfig(text + more, 'test');
}

/** The machine of an agent without a lock. */
function openWithoutHost(): MachineAccess {
  const dependencies = { clock: createSteppingClock(), log: createRecordingLog() };
  return openMachine(configOf('lock: none\n'), {}, dependencies, new AbortController().signal);
}

describe('the machine of the agent', () => {
  it('an agent without a lock asks neither the bus nor logind, and never stops the kubelet', async (t) => {
    const machine = openWithoutHost();
    t.after(() => {
      machine.runtime.close();
    });
    assert.deepEqual([machine.bus, machine.host], [undefined, undefined]);
    const state = await openTestState(await temporaryFolder(t, 'machine'));
    assert.equal(kubeletUnitOf(machine, configOf(''), state, 'boot-1'), undefined);
  });

  it('the kubelet may be stopped where systemd is asked, unless the configuration forbids it', async (t) => {
    const calls: string[] = [];
    const systemd: Partial<Systemd> = {
      isGoingDown: () => Promise.resolve(false),
      startUnit: async (name) => void calls.push(name),
    };
    const without = openWithoutHost();
    t.after(() => {
      without.runtime.close();
    });
    const machine: MachineAccess = { ...without, host: { login1: {} as Login1, systemd: systemd as Systemd } };
    const state = await openTestState(await temporaryFolder(t, 'machine'));
    assert.equal(kubeletUnitOf(without, configOf(''), state, 'boot-1'), undefined);
    const forbidden = kubeletUnitOf(machine, configOf('kubeletUnit: ""\n'), state, 'boot-1');
    await assert.rejects(async () => await forbidden?.stop(AbortSignal.timeout(60_000)), /the key "kubeletUnit" is ""/);
    await state.write('kubelet-stopped', 'boot-1\nk3s.service\n');
    assert.equal(await kubeletUnitOf(machine, configOf(''), state, 'boot-2')?.isStopped(), false);
    const unit = kubeletUnitOf(machine, configOf(''), state, 'boot-1');
    assert.equal(await unit?.isStopped(), true, 'the mark of this boot');
    await unit?.giveBack(AbortSignal.timeout(60_000));
    assert.deepEqual(calls, ['k3s.service']);
  });

  it('the loop is woken by both signals of logind and by a bus that is back', (t) => {
    const listeners: (() => void)[] = [];
    const add = (listener: () => void): void => void listeners.push(listener);
    const login1: Partial<Login1> = {
      onPrepareForShutdown: (listener) => {
        add(() => {
          listener(true);
        });
      },
      onScheduleChange: add,
    };
    const bus: Partial<SystemBus> = { onReconnect: add };
    const without = openWithoutHost();
    const end = new AbortController();
    t.after(() => {
      end.abort();
      without.runtime.close();
    });
    const host = { login1: login1 as Login1, systemd: {} as Systemd };
    let woken = 0;
    const wake = (): void => {
      woken += 1;
    };
    watchMachine({ ...without, bus: bus as SystemBus, host }, wake, createRecordingLog(), end.signal);
    for (const listener of listeners) listener();
    assert.equal(woken, 3);
  });
});
