/** How the agent learns of a shutdown from a real logind: by schedule, past it, and with an impostor in its place. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { Message as BusMessage } from 'dbus-next';
import { ShutdownDetector } from '../../../src/agent/shutdown/detector.ts';
import { NodemaintError } from '../../../src/errors.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { Login1 } from '../../../src/host/systemd/logind.ts';
import { watchScheduledFile } from '../../../src/host/systemd/scheduled-file.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { type Logind, startLogind } from '../../logind/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const DELAY = { inhibitDelayMaxSec: 60 };
const MANAGER = 'org.freedesktop.login1.Manager';
const LEAD_MS = 60_000;
/** How long before the lead a shutdown is scheduled: longer than a busy machine takes to see that. */
const AHEAD_MS = 3_000;

interface Bench extends AsyncDisposable {
  readonly rig: Logind;
  readonly host: HostClients;
  readonly goingDown: ShutdownDetector;
}

async function createBench(t: TestContext): Promise<Bench> {
  const rig = await startLogind(DELAY, t.signal);
  const host = connectHost(rig);
  const { log } = host;
  const goingDown = new ShutdownDetector({
    host,
    triggered: undefined,
    leadMs: LEAD_MS,
    clock: createSystemClock(),
    log,
  });
  return {
    rig,
    host,
    goingDown,
    [Symbol.asyncDispose]: async () => {
      host[Symbol.dispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}

function microseconds(at: number): bigint {
  return BigInt(at) * 1000n;
}

describe('a shutdown that is scheduled', () => {
  it('the agent hears of a scheduled shutdown at once without polling, begins by the lead ahead of its time, and stops when it is canceled', async (t) => {
    await using bench = await createBench(t);
    const { rig, goingDown } = bench;
    let changes = 0;
    const stop = new AbortController();
    watchScheduledFile(rig.scheduledFile, () => (changes += 1), bench.host.log, stop.signal);
    const at = Date.now() + LEAD_MS + AHEAD_MS;
    await rig.call('SetWallMessage', 'sb', ['kernel update', false]);
    await rig.call('ScheduleShutdown', 'st', ['reboot', microseconds(at)]);
    await waitFor('the file is seen', () => changes > 0, { timeoutMs: 1_000 });
    assert.deepEqual(await goingDown.read({}, t.signal), { kind: 'no' });
    assert.deepEqual(goingDown.scheduled(), { kind: 'reboot', at });
    const beginsInMs = goingDown.beginsInMs();
    assert.ok(beginsInMs > 0 && beginsInMs <= AHEAD_MS, `${beginsInMs}`);

    await waitFor('the lead begins', () => goingDown.beginsInMs() === 0);
    const reason = 'node reboot requested by root: kernel update';
    assert.deepEqual(await goingDown.read({}, t.signal), {
      kind: 'yes',
      origin: 'schedule',
      reason,
      shutdownKind: 'reboot',
    });
    changes = 0;
    await rig.call('CancelScheduledShutdown', '', []);
    await waitFor('the cancellation is seen', () => changes > 0, { timeoutMs: 1_000 });
    assert.deepEqual(await goingDown.read({}, t.signal), { kind: 'no' });
    assert.equal(goingDown.beginsInMs(), Number.POSITIVE_INFINITY);
    stop.abort();
  });

  it('a scheduled shutdown does not lend its kind to another shutdown that comes first', async (t) => {
    await using bench = await createBench(t);
    await bench.rig.call('ScheduleShutdown', 'st', ['poweroff', microseconds(Date.now() + 3_600_000)]);
    await bench.rig.call('StartUnit', 'ss', ['kexec.target', 'replace-irreversibly'], 'systemd1');
    const expected = { kind: 'yes', origin: 'unit-stop', reason: 'node kexec', shutdownKind: 'kexec' };
    assert.deepEqual(await bench.goingDown.read({}, t.signal), expected);
  });
});

describe('the kind of a shutdown', () => {
  for (const [member, kind] of [
    ['PowerOff', 'poweroff'],
    ['Reboot', 'reboot'],
    ['Halt', 'halt'],
  ] as const) {
    it(`logind tells the kind of a ${kind}`, async (t) => {
      await using bench = await createBench(t);
      await bench.rig.call(member, 'b', [false]);
      const found = await bench.goingDown.read({}, t.signal);
      assert.equal(found.kind, 'yes');
      assert.match(found.kind === 'yes' ? found.reason : '', new RegExp(`^node ${kind}`));
    });
  }

  for (const kind of ['poweroff', 'reboot', 'halt', 'kexec', 'soft-reboot']) {
    it(`the queued job tells the kind of a ${kind} that does not pass through logind`, async (t) => {
      await using bench = await createBench(t);
      await bench.rig.call('StartUnit', 'ss', [`${kind}.target`, 'replace-irreversibly'], 'systemd1');
      const expected = { kind: 'yes', origin: 'unit-stop', reason: `node ${kind}`, shutdownKind: kind };
      assert.deepEqual(await bench.goingDown.read({}, t.signal), expected);
    });
  }
});

describe('logind off the bus', () => {
  it('the agent warns that logind is off the bus, keeps the phase as it is, and still counts the stop of units', async (t) => {
    await using bench = await createBench(t);
    const { rig, host, goingDown } = bench;
    assert.ok(((await host.login1.processId(t.signal)) ?? 0) > 1);
    await rig.stopLogind();
    await waitFor('gone', async () => (await host.login1.processId(t.signal)) === undefined);
    assert.deepEqual(await goingDown.read({}, t.signal), { kind: 'unknown' });
    assert.ok(host.logged.includes('the hold on the machine is weaker than it should be'));
    await rig.call('StartUnit', 'ss', ['reboot.target', 'replace-irreversibly'], 'systemd1');
    assert.deepEqual(await goingDown.read({}, t.signal), {
      kind: 'yes',
      origin: 'unit-stop',
      reason: 'node reboot',
      shutdownKind: 'reboot',
    });
  });
});

describe('logind that leaves the bus in the middle of a shutdown', () => {
  it('the agent restarts logind, and asks it for that shutdown again', async (t) => {
    await using bench = await createBench(t);
    const { rig, host, goingDown } = bench;
    const start = (): Promise<void> => rig.restartLogind('SIGKILL');
    rig.standIn.units.set('systemd-logind.service', { active: true, start, stop: rig.stopLogind });
    const holder = spawn('systemd-inhibit', ['--what=shutdown', '--mode=delay', 'sleep', '60'], { stdio: 'ignore' });
    t.after(() => holder.kill());
    await waitFor('the shutdown is held', async () => (await host.login1.listInhibitors(t.signal)).length > 0);
    await rig.reboot();
    const reboot = { kind: 'yes', origin: 'logind', reason: 'node reboot', shutdownKind: 'reboot' } as const;
    assert.deepEqual(await goingDown.read({}, t.signal), { ...reboot, namedBy: rig.logindPid() });
    await rig.stopLogind();
    await waitFor('gone', async () => (await host.login1.processId(t.signal)) === undefined);
    assert.deepEqual(await goingDown.read({}, t.signal), { kind: 'unknown' });
    const isPreparedAgain = async (): Promise<boolean> => {
      const { kind } = await goingDown.read({}, t.signal);
      await goingDown.restore(t.signal);
      return kind === 'yes';
    };
    await waitFor('it is prepared again', isPreparedAgain, { timeoutMs: 30_000 });
    assert.ok(host.logged.includes('logind has left the bus in the middle of a shutdown, restarting it'));
    assert.ok(host.logged.includes('logind was restarted and has forgotten the shutdown, asking for it again'));
  });
});

describe('garbage in the place of logind', () => {
  it('the agent refuses or ignores garbage, and understands what newer versions say', async (t) => {
    await using bench = await createBench(t);
    const { rig, host } = bench;
    await rig.stopLogind();
    const { Message, sessionBus, Variant } = await import('dbus-next');
    const bus = sessionBus({ busAddress: rig.address });
    await once(bus, 'connect');
    bus.on('error', () => undefined);
    const answers = new Map<string, [string, unknown]>([
      ['PreparingForShutdown', ['s', 'yes']],
      ['ScheduledShutdown', ['as', ['reboot', '1']]],
      ['InhibitDelayMaxUSec', ['s', 'infinity']],
    ]);
    bus.addMethodHandler((call: BusMessage) => {
      if (call.member === 'ListInhibitors') bus.send(Message.newMethodReturn(call, 'as', [['not', 'a', 'row']]));
      else if (call.member !== 'Get') return false;
      else {
        const [signature, value] = answers.get((call.body as string[])[1] ?? '') ?? ['s', ''];
        bus.send(Message.newMethodReturn(call, 'v', [new Variant(signature, value)]));
      }
      return true;
    });
    const login1 = new Login1(host.bus, '/nonexistent');
    const heard: [boolean, string | undefined][] = [];
    let changes = 0;
    login1.onPrepareForShutdown((active, metadata) => heard.push([active, metadata?.type]));
    login1.onScheduleChange(() => (changes += 1));
    await bus.requestName('org.freedesktop.login1', 0);

    const refused = (error: unknown): boolean =>
      error instanceof NodemaintError &&
      error.code === 'DBUS_CALL_FAILED' &&
      /of logind has an unexpected form/.test(error.message);
    await assert.rejects(login1.preparingForShutdown(t.signal), refused);
    await assert.rejects(login1.scheduledShutdown(t.signal), refused);
    await assert.rejects(login1.inhibitDelayMaxMs(t.signal), refused);
    await assert.rejects(login1.listInhibitors(t.signal), refused);
    assert.deepEqual(await bench.goingDown.read({}, t.signal), { kind: 'unknown' });

    const emit = (path: string, member: string, signature: string, body: unknown[]): void => {
      bus.send(Message.newSignal('/org/freedesktop/login1', path, member, signature, body));
    };
    emit(MANAGER, 'PrepareForShutdown', 's', ['true']);
    emit(MANAGER, 'PrepareForShutdown', '', []);
    emit(MANAGER, 'PrepareForSleep', 'b', [true]);
    emit(MANAGER, 'PrepareForShutdownWithMetadata', 'ba{sv}', [true, { type: new Variant('u', 7) }]);
    emit(MANAGER, 'PrepareForShutdownWithMetadata', 'ba{sv}', [true, { type: new Variant('s', 'soft-reboot') }]);
    emit(MANAGER, 'PrepareForShutdown', 'b', [false]);
    const properties = 'org.freedesktop.DBus.Properties';
    emit(properties, 'PropertiesChanged', 'sa{sv}as', [MANAGER, { IdleHint: new Variant('b', true) }, []]);
    emit(properties, 'PropertiesChanged', 's', ['nonsense']);
    emit(properties, 'PropertiesChanged', 'sa{sv}as', [MANAGER, {}, ['ScheduledShutdown']]);
    await waitFor('the last signal', () => changes > 0);
    assert.deepEqual(heard, [
      [true, undefined],
      [true, 'soft-reboot'],
      [false, undefined],
    ]);
    assert.equal(changes, 1);
    bus.disconnect();
  });
});
