import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubeletUnitOf, type MachineAccess, openMachine, watchMachine } from '../../../src/agent/machine-parts.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';
import type { SystemBus } from '../../../src/host/dbus/bus.ts';
import type { Login1 } from '../../../src/host/systemd/login1.ts';
import type { Systemd } from '../../../src/host/systemd/systemd1.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { openTestState } from '../../support/agent/state.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

function configOf(more: string): AgentConfig {
  const text = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
  return parseAgentConfig(text + more, 'test');
}

/** The machine of an agent without a lock. */
function openWithoutHost(): MachineAccess {
  const dependencies = { scope: {}, clock: createSteppingClock(), log: createRecordingLog() };
  return openMachine({ config: configOf('lock: none\n'), ...dependencies }, new AbortController().signal);
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
