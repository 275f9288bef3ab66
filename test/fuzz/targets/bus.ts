/** Answers of systemd and logind as values. */
import * as fc from 'fast-check';
import { BusCallError, type SystemBus } from '../../../src/host/dbus/bus.ts';
import { Login1 } from '../../../src/host/systemd/logind.ts';
import { Systemd } from '../../../src/host/systemd/manager.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';
import { mutatedValue } from '../mutate.ts';
import { assertFinite, attempt, type FuzzInput, type FuzzTarget } from '../target.ts';

const SIGNAL = new AbortController().signal;

/** Bigints as JSON carries them: "12n". */
function revive(value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1));
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revive(inner)]));
}

const BODIES = mutatedValue(
  fc.constantFrom<FuzzInput>(
    [['reboot', '1780000000000000n']],
    [[[['shutdown', 'nodemaint', 'drains', 'delay', 0, 12]]]],
    [true, { type: 'reboot' }],
    ['running'],
    ['604800000000n'],
    [[['reboot.target', 'x', 'loaded', 'inactive', 'dead', '', '/o/u', 7, 'start', '/o/j']]],
    [7],
  ),
);

/** Everything that is asked of the bus is answered by the input. */
async function bus(body: readonly unknown[]): Promise<void> {
  const listeners: ((signal: readonly unknown[]) => void)[] = [];
  const fake: SystemBus = {
    clock: createSteppingClock(),
    call: () => Promise.resolve(body),
    getProperty: () => (body.length === 0 ? Promise.reject(new BusCallError('a.b', 'no')) : Promise.resolve(body[0])),
    subscribe: (_match, listener) => listeners.push(listener),
    onReconnect: () => undefined,
  };
  const login1 = new Login1(fake, '/nonexistent');
  login1.onPrepareForShutdown(() => undefined);
  login1.onScheduleChange(() => undefined);
  for (const listener of listeners) listener(body);
  const systemd = new Systemd(fake);
  const reads = [
    () => login1.processId(SIGNAL),
    () => login1.preparingForShutdown(SIGNAL),
    () => login1.scheduledShutdown(SIGNAL),
    () => login1.inhibitDelayMaxMs(SIGNAL),
    () => login1.listInhibitors(SIGNAL),
    () => login1.shutdownRequester(SIGNAL),
    () => systemd.systemState(SIGNAL),
    () => systemd.isGoingDown(SIGNAL),
    () => systemd.queuedShutdown(SIGNAL),
    () => systemd.softReboots(SIGNAL),
    () => systemd.unitProperty('a.service', 'Service', 'MainPID', SIGNAL),
    () => systemd.services(['kubelet*.service'], 1_000, SIGNAL),
    () => systemd.unitActiveState('a.service', SIGNAL),
  ];
  for (const [index, read] of reads.entries()) assertFinite(await attempt<unknown>(read), `answer ${index}`);
}

/** The bus, whose every answer is the input. */
export const BUS_TARGET: FuzzTarget = {
  name: 'dbus-bodies',
  inputs: BODIES,
  open: () => ({
    run: async (input) => {
      const body = revive(input);
      await bus(Array.isArray(body) ? body : [body]);
    },
  }),
};
