import type { KubeletUnitChoice } from '../../decide/machine/kubelet-unit.ts';
import { NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../files/state-files.ts';
import type { Systemd } from '../systemd/manager.ts';

/** Stops the kubelet and starts it again. */
export interface KubeletUnit {
  /** Stops the kubelet; its containers keep running. A durable mark tells later agents that the agent stopped it. Idempotent. */
  stop(signal: AbortSignal): Promise<void>;
  /**
   * Starts the kubelet if `stop` has stopped it in this boot. Idempotent. Returns false if it cannot be started now, because
   * systemd stops all units.
   */
  giveBack(signal: AbortSignal): Promise<boolean>;
  /** Whether `stop` has stopped it in this boot. */
  isStopped(): Promise<boolean>;
}

/** Stops and starts a unit by its name. */
export type Units = Pick<Systemd, 'startUnit' | 'stopUnit' | 'endUnit' | 'unitActiveState' | 'isGoingDown'>;

/** The dependencies of a kubelet unit. */
interface KubeletUnitOptions {
  /** Chooses the unit; called before the stop, while the kubelet runs. */
  readonly choose: (signal: AbortSignal) => Promise<KubeletUnitChoice>;
  /** Stores the mark of a stop for a restarted agent. After a boot the kubelet has started by itself. */
  readonly state: Pick<StateFiles, 'read' | 'write' | 'remove'>;
  readonly bootId: string;
}

const MARK = 'kubelet-stopped';

/** The unit of the kubelet. Errors: DBUS_UNAVAILABLE, DBUS_CALL_FAILED; CONFIG_INVALID if no unit can be stopped. */
export function createKubeletUnit(units: Units, { choose, state, bootId }: KubeletUnitOptions): KubeletUnit {
  /** What the last attempt of this process came to. */
  let attempt: 'none' | 'done' | 'failed' = 'none';
  /** The unit that was, or was to be, stopped in this boot; undefined if none was. */
  const readMark = async (): Promise<string | undefined> => {
    const [boot, unit] = ((await state.read(MARK)) ?? '').trim().split('\n');
    return boot === bootId ? (unit ?? 'kubelet.service') : undefined;
  };
  const end = async (name: string, signal: AbortSignal): Promise<void> => {
    await state.write(MARK, `${bootId}\n${name}\n`);
    // During a shutdown the unit's own stop job waits for the agent's end, and another stop would wait too.
    const waits = await units.isGoingDown(signal);
    await (waits ? units.endUnit(name, signal) : units.stopUnit(name, signal));
  };
  return {
    // After a failed attempt the kubelet may run, whatever the mark says.
    isStopped: async () => attempt !== 'failed' && (await readMark()) !== undefined,
    stop: async (signal) => {
      if (attempt === 'done') return;
      const marked = await readMark();
      const choice = marked === undefined ? await choose(signal) : ({ kind: 'unit', unit: marked } as const);
      if (choice.kind === 'none') throw new NodemaintError('CONFIG_INVALID', choice.reason);
      const name = choice.unit;
      // A unit that is stopped already was stopped by an administrator, who has to start it again.
      if (marked === undefined && (await units.unitActiveState(name, signal)) === 'inactive') return;
      attempt = 'failed';
      await end(name, signal);
      attempt = 'done';
    },
    giveBack: async (signal) => {
      const name = await readMark();
      if (name === undefined) return true;
      if (await units.isGoingDown(signal)) return false;
      attempt = 'none';
      await units.startUnit(name, signal);
      await state.remove(MARK);
      return true;
    },
  };
}
