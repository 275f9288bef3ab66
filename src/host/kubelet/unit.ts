import type { KubeletUnitChoice } from '../../decide/machine/kubelet-unit.ts';
import { NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../files/state-files.ts';
import type { Systemd } from '../systemd/systemd1.ts';

/** Takes the kubelet away and gives it back. */
export interface KubeletUnit {
  /** Stops the kubelet; its containers go on. Durable: whoever comes next knows that it was us. Idempotent. */
  stop(signal: AbortSignal): Promise<void>;
  /**
   * Starts it where it was stopped by us in this boot. Idempotent. Returns whether it is not stopped by us any more: while
   * systemd stops all units it starts none.
   */
  giveBack(signal: AbortSignal): Promise<boolean>;
  /** Whether it is stopped by us. */
  isStopped(): Promise<boolean>;
}

/** Stops and starts a unit by its name. */
export type Units = Pick<Systemd, 'startUnit' | 'stopUnit' | 'endUnit' | 'unitActiveState' | 'isGoingDown'>;

/** What there is to know of the unit. */
export interface KubeletUnitOptions {
  /** Which unit it is, looked for when it is to be stopped: while it runs. */
  readonly choose: (signal: AbortSignal) => Promise<KubeletUnitChoice>;
  /** Where the mark of a stop lies, for a boot starts the kubelet by itself and a restarted agent has to know. */
  readonly state: Pick<StateFiles, 'read' | 'write' | 'remove'>;
  readonly bootId: string;
}

const MARK = 'kubelet-stopped';

/**
 * The kubelet's unit. Errors: DBUS_UNAVAILABLE, DBUS_CALL_FAILED, as for systemd; CONFIG_INVALID where no unit can be
 * stopped.
 */
export function createKubeletUnit(units: Units, { choose, state, bootId }: KubeletUnitOptions): KubeletUnit {
  let stopped = false;
  /** The unit that was stopped in this boot. */
  const readMark = async (): Promise<string | undefined> => {
    const [boot, unit] = ((await state.read(MARK)) ?? '').trim().split('\n');
    return boot === bootId ? (unit ?? 'kubelet.service') : undefined;
  };
  return {
    isStopped: async () => (await readMark()) !== undefined,
    stop: async (signal) => {
      if (stopped) return;
      const marked = await readMark();
      const choice = marked === undefined ? await choose(signal) : ({ kind: 'unit', unit: marked } as const);
      if (choice.kind === 'none') throw new NodemaintError('CONFIG_INVALID', choice.reason);
      const name = choice.unit;
      // One that somebody else has stopped is not ours to start.
      if (marked === undefined && (await units.unitActiveState(name, signal)) === 'inactive') return;
      await state.write(MARK, `${bootId}\n${name}\n`);
      // Its own stop job waits for the end of our unit, and so would a stop that we ask for.
      const waits = await units.isGoingDown(signal);
      await (waits ? units.endUnit(name, signal) : units.stopUnit(name, signal));
      stopped = true;
    },
    giveBack: async (signal) => {
      const name = await readMark();
      if (name === undefined) return true;
      if (await units.isGoingDown(signal)) return false;
      stopped = false;
      await units.startUnit(name, signal);
      await state.remove(MARK);
      return true;
    },
  };
}
