import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from './durable-file.ts';
import type { Systemd } from './systemd.ts';

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

/**
 * The kubelet's unit. Errors: DBUS_UNAVAILABLE, DBUS_CALL_FAILED, as for systemd. The mark of a stop lies in `directory`,
 * for a boot starts the kubelet by itself and a restarted agent has to know.
 */
export function createKubeletUnit(units: Units, name: string, directory: string, bootId: string): KubeletUnit {
  const mark = path.join(directory, 'kubelet-stopped');
  let stopped = false;
  const isMarked = async (): Promise<boolean> => {
    const text = await readFile(mark, 'utf8').catch(() => '');
    return text.trim() === bootId;
  };
  return {
    isStopped: isMarked,
    stop: async (signal) => {
      if (stopped) return;
      const state = await units.unitActiveState(name, signal);
      // One that somebody else has stopped is not ours to start.
      if (state === 'inactive' && !(await isMarked())) return;
      await replaceFile(mark, `${bootId}\n`, 0o600);
      // Its own stop job waits for the end of our unit, and so would a stop that we ask for.
      const waits = await units.isGoingDown(signal);
      await (waits ? units.endUnit(name, signal) : units.stopUnit(name, signal));
      stopped = true;
    },
    giveBack: async (signal) => {
      if (!(await isMarked())) return true;
      if (await units.isGoingDown(signal)) return false;
      stopped = false;
      await units.startUnit(name, signal);
      await rm(mark, { force: true });
      return true;
    },
  };
}
