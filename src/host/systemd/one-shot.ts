/** Runs a unit of the type oneshot to its end. */
import * as z from 'zod';
import type { SystemBus } from '../dbus/bus.ts';
import { Systemd } from './manager.ts';

const MANAGER = {
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
};
/** The property Job: its number and its object path. */
const jobSchema = z.tuple([z.uint32(), z.string()]);
const NO_JOB = 0;
const RELOAD_MS = 90_000;
const POLL_MS = 500;
/** The program ended by itself (siginfo_t, si_code). */
const CLD_EXITED = 1;

/** Waits until the unit has no job and does not run. Errors: DBUS_UNAVAILABLE, DBUS_CALL_FAILED. */
export async function untilAtRest(bus: SystemBus, unit: string, signal: AbortSignal): Promise<'failed' | 'inactive'> {
  const systemd = new Systemd(bus);
  for (;;) {
    // Until a queued job begins, the unit has its old state.
    const job = jobSchema.safeParse(await systemd.unitProperty(unit, 'Unit', 'Job', signal));
    const state = await systemd.unitActiveState(unit, signal);
    if (job.data?.[0] === NO_JOB && (state === 'failed' || state === 'inactive')) return state;
    await bus.clock.sleep(POLL_MS, signal);
  }
}

/**
 * Has systemd read its unit files, starts the unit, which must be at rest, and waits until it has ended. Returns the exit
 * code of its program; 255 if the program did not end by itself. Errors: DBUS_UNAVAILABLE, DBUS_CALL_FAILED.
 */
export async function runOneShot(bus: SystemBus, unit: string, signal: AbortSignal): Promise<number> {
  await bus.call({ ...MANAGER, member: 'Reload', timeoutMs: RELOAD_MS }, signal);
  await bus.call({ ...MANAGER, member: 'StartUnit', signature: 'ss', body: [unit, 'fail'] }, signal);
  if ((await untilAtRest(bus, unit, signal)) === 'inactive') return 0;
  const systemd = new Systemd(bus);
  const code = await systemd.unitProperty(unit, 'Service', 'ExecMainStatus', signal);
  const how = await systemd.unitProperty(unit, 'Service', 'ExecMainCode', signal);
  return how === CLD_EXITED && typeof code === 'number' && code > 0 ? code : 255;
}
