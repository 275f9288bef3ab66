/** An agent that only holds the lock, for tests that kill it: `hold-lock.ts child|unit HEARTBEAT_FILE`. */
import process from 'node:process';
import { createSystemClock } from '../../src/host/clock.ts';
import { createSystemBus } from '../../src/host/dbus/bus.ts';
import { createChildLock, createUnitLock } from '../../src/host/systemd/inhibitor.ts';
import { createLogin1 } from '../../src/host/systemd/login1.ts';
import { createSystemd } from '../../src/host/systemd/systemd1.ts';

const write = (_fields: object, message: string): void => console.error(message);
const log = { debug: write, info: write, warn: write, error: write };
const [kind, heartbeatPath = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const bus = createSystemBus({ log, clock: createSystemClock() }, signal);
const login1 = createLogin1(bus);
const lock =
  kind === 'child'
    ? createChildLock({ login1, log, onLost: () => undefined })
    : createUnitLock({ login1, systemd: createSystemd(bus), log, heartbeatPath });
console.log((await lock.acquire(signal)).kind);
