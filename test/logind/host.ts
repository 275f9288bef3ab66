/** The agent's side of a test on the rig: bus, logind and systemd clients that end with the test. */
import { createSystemClock } from '../../src/host/clock.ts';
import { createSystemBus, type SystemBus } from '../../src/host/dbus/bus.ts';
import { Login1 } from '../../src/host/systemd/logind.ts';
import { Systemd } from '../../src/host/systemd/manager.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Logind } from './rig.ts';

export interface HostClients extends Disposable {
  readonly bus: SystemBus;
  readonly login1: Login1;
  readonly systemd: Systemd;
  readonly log: Log;
  /** The messages that were logged. */
  readonly logged: readonly string[];
}

/** Connects to the rig as the agent would; systemd-inhibit finds the rig by the environment. */
export function connectHost(rig: Logind): HostClients {
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = rig.address;
  const logged: string[] = [];
  const write = (_fields: object, message: string): void => {
    logged.push(message);
  };
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const lifetime = new AbortController();
  const bus = createSystemBus({ address: rig.address, log, clock: createSystemClock() }, lifetime.signal);
  const login1 = new Login1(bus, rig.scheduledFile);
  return {
    bus,
    login1,
    systemd: new Systemd(bus),
    log,
    logged,
    [Symbol.dispose]: () => {
      lifetime.abort();
    },
  };
}
