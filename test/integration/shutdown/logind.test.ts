import assert from 'node:assert/strict';
import { once } from 'node:events';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NodemaintError } from '../../../src/errors.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { BusCallError, createSystemBus } from '../../../src/host/dbus/bus.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { capabilitiesOf, startLogind } from '../../logind/rig.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';

const DELAY = { inhibitDelayMaxSec: 60 };
const SYS_BOOT = 1n << 22n;
const LOGIN1 = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };

function hasCode(code: string, words: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof NodemaintError && error.code === code && words.test(error.message);
}

/** Counts the announcements of a shutdown and the new connections to the bus from now on. */
function countSignals(host: HostClients): { readonly heard: number; readonly reconnected: number } {
  const told = { heard: 0, reconnected: 0 };
  host.login1.onPrepareForShutdown(() => (told.heard += 1));
  host.bus.onReconnect(() => (told.reconnected += 1));
  return told;
}

describe('the clients of logind and systemd', () => {
  it('the rig runs logind without the capability to reboot', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    const capabilities = await capabilitiesOf(rig.logindPid());
    for (const set of ['CapBnd', 'CapEff', 'CapPrm'])
      assert.equal((capabilities.get(set) ?? SYS_BOOT) & SYS_BOOT, 0n, set);
  });

  it('the client hears of a shutdown, and can read it from then on', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    const heard: { active: boolean }[] = [];
    host.login1.onPrepareForShutdown((active) => heard.push({ active }));
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
    assert.equal(await host.systemd.isGoingDown(t.signal), false);
    assert.equal(await host.login1.inhibitDelayMaxMs(t.signal), 60_000);

    await rig.powerOff();
    await waitFor('signal', () => heard.length > 0);
    assert.equal(heard[0]?.active, true);
    await waitFor('poweroff.target', () => rig.startedTargets().length > 0);
    assert.equal(await host.login1.preparingForShutdown(t.signal), true);
    assert.equal(await host.systemd.isGoingDown(t.signal), true);
    assert.equal(await host.systemd.systemState(t.signal), 'stopping');

    rig.standIn.finishJob();
    await waitFor('called off', () => heard.some(({ active }) => !active));
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
  });

  it('a scheduled shutdown has its kind, its time, who asked for it and why', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    assert.equal(await host.login1.scheduledShutdown(t.signal), null);
    assert.deepEqual(await host.login1.shutdownRequester(t.signal), {});

    const at = Date.now() + 30_000;
    await rig.call('SetWallMessage', 'sb', ['kernel "6.1" für alle', false]);
    await rig.call('ScheduleShutdown', 'st', ['reboot', BigInt(at) * 1000n]);
    assert.deepEqual(await host.login1.scheduledShutdown(t.signal), { kind: 'reboot', at });
    const requester = await host.login1.shutdownRequester(t.signal);
    assert.equal(requester.kind, 'reboot');
    assert.equal(requester.uid, 0);
    assert.equal(requester.wall, 'kernel "6.1" für alle');
    await rig.call('CancelScheduledShutdown', '', []);
    assert.equal(await host.login1.scheduledShutdown(t.signal), null);
  });

  it('the client ignores a signal that logind did not send', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    let heard = 0;
    host.login1.onPrepareForShutdown(() => (heard += 1));
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);

    const { Message, sessionBus } = await import('dbus-next');
    const stranger = sessionBus({ busAddress: rig.address });
    await once(stranger, 'connect');
    const names = await host.bus.call(
      { destination: 'org.freedesktop.DBus', path: '/', interface: 'org.freedesktop.DBus', member: 'ListNames' },
      t.signal,
    );
    const forged = { path: LOGIN1.path, interface: 'org.freedesktop.login1.Manager', member: 'PrepareForShutdown' };
    const signal = Message.newSignal(forged.path, forged.interface, forged.member, 'b', [true]);
    stranger.send(signal);
    // A signal may also be sent to one connection, past all match rules.
    for (const destination of names[0] as string[]) {
      if (!destination.startsWith(':')) continue;
      const direct = Message.newSignal(forged.path, forged.interface, forged.member, 'b', [true]);
      direct.destination = destination;
      stranger.send(direct);
    }
    // The bus keeps the order: when these answers are here, the signals were sent on.
    await stranger.requestName('org.example.Stranger', 0);
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
    stranger.disconnect();
    assert.equal(heard, 0);
  });

  it('a call that is not answered ends at its time-out, and the bus stays in use', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    const { sessionBus } = await import('dbus-next');
    const silent = sessionBus({ busAddress: rig.address });
    await once(silent, 'connect');
    silent.addMethodHandler(() => true);
    await silent.requestName('org.example.Silent', 0);
    let reconnected = 0;
    host.bus.onReconnect(() => (reconnected += 1));

    const call = { destination: 'org.example.Silent', path: '/', interface: 'org.example.Silent', member: 'Ask' };
    await assert.rejects(
      host.bus.call({ ...call, timeoutMs: 200 }, t.signal),
      hasCode('DBUS_CALL_FAILED', /did not answer Ask within 0.2 s/),
    );
    await assert.rejects(host.bus.call({ ...call, timeoutMs: 5000 }, AbortSignal.timeout(50)), {
      name: 'TimeoutError',
    });
    await assert.rejects(
      host.bus.call({ ...call, destination: 'org.example.Nobody' }, t.signal),
      (error) => error instanceof BusCallError && error.errorName === 'org.freedesktop.DBus.Error.ServiceUnknown',
    );
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
    assert.equal(reconnected, 0);
    silent.disconnect();
  });

  it('the client gives up a silent bus, and uses it again when it answers', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    let reconnected = 0;
    host.bus.onReconnect(() => (reconnected += 1));
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
    process.kill(rig.dbusPid(), 'SIGSTOP');
    const call = { ...LOGIN1, interface: 'org.freedesktop.login1.Manager', member: 'ListInhibitors', timeoutMs: 100 };
    await assert.rejects(host.bus.call(call, t.signal), hasCode('DBUS_CALL_FAILED', /did not answer/));
    await waitFor('the bus is given up', () => host.logged.includes('lost the bus, connecting again'));
    process.kill(rig.dbusPid(), 'SIGCONT');
    await waitFor('reconnected', () => reconnected === 1);
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
  });

  it('a call without a bus fails at once', async (t: TestContext) => {
    const lifetime = new AbortController();
    const address = 'unix:path=/nonexistent/bus';
    const bus = createSystemBus({ address, log: SILENT_LOG, clock: createSystemClock() }, lifetime.signal);
    const call = { ...LOGIN1, interface: 'org.freedesktop.login1.Manager', member: 'ListInhibitors' };
    for (let times = 0; times < 3; times += 1) {
      await assert.rejects(bus.call(call, t.signal), hasCode('DBUS_UNAVAILABLE', /no connection to the bus .*ENOENT/));
    }
    lifetime.abort();
    await assert.rejects(bus.call(call, t.signal), hasCode('DBUS_UNAVAILABLE', /no connection/));
  });

  for (const killedBy of ['SIGTERM', 'SIGKILL'] as const) {
    it(`the client reports a restart of logind by ${killedBy}, and hears its signals again`, async (t: TestContext) => {
      await using rig = await startLogind(DELAY, t.signal);
      using host = connectHost(rig);
      const told = countSignals(host);
      assert.equal(await host.login1.preparingForShutdown(t.signal), false);
      await rig.restartLogind(killedBy);
      await waitFor('told', () => told.reconnected > 0);
      await rig.reboot();
      await waitFor('signal', () => told.heard > 0);
    });
  }

  it('the client reports a restart of the bus, and hears signals again', async (t: TestContext) => {
    await using rig = await startLogind(DELAY, t.signal);
    using host = connectHost(rig);
    const told = countSignals(host);
    assert.equal(await host.login1.preparingForShutdown(t.signal), false);
    const begunAt = performance.now();
    await rig.restartDbus();
    await waitFor('told', () => told.reconnected > 0);
    t.diagnostic(`back ${(performance.now() - begunAt).toFixed(0)} ms after the bus was killed`);
    await waitFor('logind answers', async () => {
      const answer = await host.login1.preparingForShutdown(t.signal).catch(() => undefined);
      return answer === false;
    });
    // The bus knows the subscription by now, because it answers in order.
    await rig.reboot();
    await waitFor('signal', () => told.heard > 0);
    await delay(50);
    assert.ok(!host.logged.includes('listener of a signal failed'));
  });
});
