import type { PhaseFacts } from '../decide/shutdown-phase.ts';
import { describeError } from '../errors.ts';
import type { Login1, ShutdownRequester } from '../host/login1.ts';
import type { Systemd } from '../host/systemd.ts';
import type { Log } from '../telemetry/log.ts';

/** Whether this machine is going down, as far as can be read now. */
export interface GoingDown {
  read(signal: AbortSignal): Promise<PhaseFacts['goingDown']>;
  /**
   * Whether systemd itself is stopping units, so that no unit can be started any more. True also where systemd cannot be
   * asked: who asks has pods to wait for, and staying is the safe side.
   */
  managerStopping(signal: AbortSignal): Promise<boolean>;
  /** Announces a shutdown by hand; `undefined` takes it back. */
  trigger(reason: string | undefined): void;
}

/** Who asked, in words, for the reason of the maintenance. */
export function describeRequester(kind: string, { uid, tty, wall }: ShutdownRequester): string {
  const who = uid === undefined ? '' : ` requested by ${uid === 0 ? 'root' : `uid ${uid}`}`;
  const where = tty === undefined ? '' : ` on ${tty}`;
  const why = wall === undefined ? '' : `: ${wall}`;
  return `node ${kind}${who}${where}${why}`;
}

/** Makes the reader; without logind and systemd only the trigger counts. */
export function createGoingDown(
  host: { readonly login1: Login1; readonly systemd: Systemd } | undefined,
  triggered: string | undefined,
  log: Log,
): GoingDown {
  let triggerReason = triggered;
  let complained = '';
  return {
    trigger: (reason) => {
      triggerReason = reason;
    },
    managerStopping: async (signal) => {
      if (host === undefined) return false;
      try {
        return (await host.systemd.systemState(signal)) === 'stopping';
      } catch {
        signal.throwIfAborted();
        return true;
      }
    },
    read: async (signal) => {
      if (triggerReason !== undefined) return { kind: 'yes', origin: 'trigger', reason: triggerReason };
      if (host === undefined) return { kind: 'no' };
      try {
        const preparing = await host.login1.preparingForShutdown(signal);
        if (!preparing && !(await host.systemd.isGoingDown(signal))) return { kind: 'no' };
        const requester = await host.login1.shutdownRequester(signal).catch((): ShutdownRequester => ({}));
        signal.throwIfAborted();
        const reason = describeRequester(requester.kind ?? 'shutdown', requester);
        complained = '';
        return { kind: 'yes', origin: preparing ? 'logind' : 'unit-stop', reason };
      } catch (error) {
        signal.throwIfAborted();
        const reason = describeError(error);
        if (reason !== complained) log.warn({ reason }, 'cannot ask logind or systemd whether the machine goes down');
        complained = reason;
        return { kind: 'unknown' };
      }
    },
  };
}
