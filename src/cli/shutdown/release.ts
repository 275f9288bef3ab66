import { askAgent } from '../../agent/control/client.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createSystemBus } from '../../host/dbus/bus.ts';
import { HOLDER_UNIT } from '../../host/systemd/inhibitor-unit.ts';
import { Systemd } from '../../host/systemd/manager.ts';
import { createLog } from '../../telemetry/log.ts';

/**
 * `nodemaint release`: lets a held shutdown continue. Where no agent answers, releases the lock that one has left behind.
 * Throws USAGE where no shutdown is held.
 */
export async function releaseCommand(runDirectory: string, reason: string, signal: AbortSignal): Promise<string> {
  try {
    await askAgent(runDirectory, { verb: 'release', reason });
    return 'The shutdown no longer waits for the pods of this node.\n';
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'CONTROL_SOCKET_UNAVAILABLE') throw error;
  }
  const lifetime = new AbortController();
  try {
    const log = createLog('error', 'nodemaint-release');
    const bus = createSystemBus({ log, clock: createSystemClock() }, AbortSignal.any([signal, lifetime.signal]));
    await new Systemd(bus).stopUnit(HOLDER_UNIT, signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = `no agent answers, and the lock that it may have left cannot be released: ${describeError(error)}; by hand, as root: systemctl stop ${HOLDER_UNIT}`;
    throw new NodemaintError('DBUS_CALL_FAILED', message, { cause: error });
  } finally {
    lifetime.abort();
  }
  return 'No agent answers; the lock that it left is released.\n';
}
