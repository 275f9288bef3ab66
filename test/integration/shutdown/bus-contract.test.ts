/**
 * What a connection to a bus has to do, whichever library speaks the protocol: the contract of src/host/dbus/connection.ts, the
 * only file that knows the library. Against a real dbus-daemon.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import {
  type BusCall,
  type BusConnection,
  type BusReply,
  type BusSignal,
  openBusConnection,
} from '../../../src/host/dbus/connection.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const DBUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
/** Everything is allowed, and the bus is the only program on it beside those of the test. */
const CONFIG = ['--session', '--nofork', '--nopidfile', '--nosyslog'];

/** A bus of this test's own, with what a connection to it has received. */
interface Scene {
  readonly address: string;
  readonly daemon: ChildProcess;
  readonly connection: BusConnection;
  readonly signals: BusSignal[];
  readonly closed: Error[];
  ask(call: BusCall): Promise<BusReply>;
}

async function startScene(t: TestContext): Promise<Scene> {
  const address = `unix:path=${path.join(await temporaryFolder(t, 'bus-contract'), 'bus')}`;
  const daemon = spawn('dbus-daemon', [...CONFIG, `--address=${address}`], { stdio: 'ignore' });
  t.after(() => daemon.kill('SIGKILL'));
  const signals: BusSignal[] = [];
  const closed: Error[] = [];
  const events = {
    onSignal: (event: BusSignal) => signals.push(event),
    onClosed: (reason: Error) => closed.push(reason),
  };
  let opened: BusConnection | undefined;
  await waitFor('the bus is there', async () => {
    opened = await openBusConnection(
      address,
      {
        ...events,
        onSignal: (event) => void events.onSignal(event),
        onClosed: (reason) => void events.onClosed(reason),
      },
      t.signal,
    ).catch(() => undefined);
    return opened !== undefined;
  });
  // Of attempts before the bus was there.
  closed.length = 0;
  assert.ok(opened !== undefined);
  const connection = opened;
  t.after(() => connection.close(new Error('the test is over')));
  const ask = async (call: BusCall): Promise<BusReply> =>
    await new Promise((resolve) => connection.send(call, resolve));
  return { address, daemon, connection, signals, closed, ask };
}

/** Sends a signal from a connection of its own. */
async function emit(address: string, ...words: readonly string[]): Promise<void> {
  await promisify(execFile)('dbus-send', [`--bus=${address}`, '--type=signal', ...words]);
}

const MATCH = { ...DBUS, member: 'AddMatch', signature: 's', body: ["type='signal',interface='test.Contract'"] };

describe('the contract of a connection to a bus', () => {
  it('an answer is a return with plain values, or an error with its name and text', async (t) => {
    const { ask } = await startScene(t);
    const names = await ask({ ...DBUS, member: 'ListNames' });
    assert.ok(names.kind === 'return');
    assert.ok((names.body[0] as string[]).includes('org.freedesktop.DBus'));
    const properties = { ...DBUS, interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss' };
    const features = await ask({ ...properties, body: ['org.freedesktop.DBus', 'Interfaces'] });
    assert.ok(features.kind === 'return');
    assert.ok(Array.isArray(features.body[0]), 'a variant is replaced by its value');
    const refused = await ask({ ...DBUS, destination: 'test.Nobody', member: 'Anything' });
    assert.ok(refused.kind === 'error');
    assert.equal(refused.name, 'org.freedesktop.DBus.Error.ServiceUnknown');
    assert.match(refused.text, /test\.Nobody/);
  });

  it('answers belong to their calls, also where many are under way, and one that is forgotten is not told', async (t) => {
    const { ask, connection } = await startScene(t);
    let told = 0;
    const forget = connection.send({ ...DBUS, member: 'ListNames' }, () => (told += 1));
    forget();
    const asked = Array.from({ length: 50 }, (_, index) =>
      ask({
        ...DBUS,
        member: 'NameHasOwner',
        signature: 's',
        body: [index % 2 === 0 ? 'org.freedesktop.DBus' : 'test.Nobody'],
      }),
    );
    const answers = (await Promise.all(asked)).map((reply) => reply.kind === 'return' && reply.body[0]);
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, index) => index % 2 === 0),
    );
    assert.equal(told, 0);
  });

  it('a signal has its sender, and its body as plain values: 64-bit numbers are bigint, whatever their size', async (t) => {
    const { address, ask, signals } = await startScene(t);
    assert.equal((await ask(MATCH)).kind, 'return');
    const body = [
      'uint64:18446744073709551615',
      'int64:-5',
      'boolean:true',
      'variant:uint32:7',
      'array:string:a,b',
      'objpath:/x',
    ];
    await emit(address, '/test', 'test.Contract.First', ...body);
    await emit(address, '/test', 'test.Contract.Second', 'dict:string:uint32:k,1');
    await emit(address, '/test', 'test.Other.Third');
    await emit(address, '/test', 'test.Contract.Last');
    await waitFor('the last signal', () => signals.at(-1)?.member === 'Last');
    const own = signals.filter((each) => each.interface === 'test.Contract');
    const members = own.map(({ member }) => member);
    assert.deepEqual(members, ['First', 'Second', 'Last'], 'in order');
    assert.deepEqual(own[0]?.body, [18_446_744_073_709_551_615n, -5n, true, 7, ['a', 'b'], '/x']);
    assert.match(own[0]?.sender ?? '', /^:\d+\.\d+$/);
    assert.equal(own[0]?.path, '/test');
    assert.ok(!signals.some((each) => each.interface === 'test.Other'), 'nothing comes that was not asked for');
  });

  it('a bus that ends closes the connection once, and every call under way is answered by that', async (t) => {
    const { connection, daemon, closed } = await startScene(t);
    daemon.kill('SIGSTOP');
    const replies: BusReply[] = [];
    for (let count = 0; count < 3; count += 1) {
      connection.send({ ...DBUS, member: 'ListNames' }, (reply) => replies.push(reply));
    }
    daemon.kill('SIGKILL');
    await waitFor('the connection is closed', () => closed.length > 0);
    const kinds = replies.map(({ kind }) => kind);
    assert.deepEqual(kinds, ['closed', 'closed', 'closed']);
    connection.close(new Error('again'));
    assert.equal(closed.length, 1);
    const late: BusReply[] = [];
    connection.send({ ...DBUS, member: 'ListNames' }, (reply) => late.push(reply));
    await waitFor('a call over a closed connection is answered', () => late[0]?.kind === 'closed');
  });

  it('a bus that does not speak is left when the signal is aborted, and an address without a bus is an error', async (t) => {
    const socket = path.join(await temporaryFolder(t, 'bus-contract'), 'mute');
    const mute = createServer(() => undefined).listen(socket);
    t.after(() => mute.close());
    await once(mute, 'listening');
    const events = { onSignal: (): void => undefined, onClosed: (): void => undefined };
    const stop = new AbortController();
    const opening = openBusConnection(`unix:path=${socket}`, events, stop.signal);
    await once(mute, 'connection');
    stop.abort(new Error('too late'));
    await assert.rejects(opening, /too late/);
    await assert.rejects(openBusConnection(`unix:path=${socket}-none`, events, t.signal), /ENOENT/);
  });
});
