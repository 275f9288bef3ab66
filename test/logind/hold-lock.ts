/** An agent that only holds the lock, for a test that kills it: `hold-lock.ts HEARTBEAT_FILE`. */
import process from 'node:process';
import { createSystemClock } from '../../src/host/clock.ts';
import { createSystemBus } from '../../src/host/dbus/bus.ts';
import { UnitLock } from '../../src/host/systemd/inhibitor-unit.ts';
import { Login1 } from '../../src/host/systemd/logind.ts';
import { Systemd } from '../../src/host/systemd/manager.ts';

const write = (_fields: object, message: string): void => console.error(message);
const log = { debug: write, info: write, warn: write, error: write };
const [heartbeatPath = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const bus = createSystemBus({ log, clock: createSystemClock() }, signal);
const lock = new UnitLock({ login1: new Login1(bus), systemd: new Systemd(bus), log, heartbeatPath });
console.log(await lock.acquire(signal));
