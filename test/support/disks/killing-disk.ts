import type { Disk } from '../../../src/static-pods/disk/disk.ts';

/** When the end comes: before a change, after it, or in the middle of one that writes. */
export type Moment = 'before' | 'half' | 'after';
export const MOMENTS: readonly Moment[] = ['before', 'half', 'after'];

/** A disk that counts its changes and ends everything at one of them. */
export interface KillingDisk {
  readonly disk: Disk;
  /** Changes that were begun. */
  changes(): number;
}

/**
 * Wraps `real`; `kill` is called at the `at`th change, counted from 1, and must not return. Making something durable is
 * no change: what a process has written is there for the next one, durable or not.
 */
export function createKillingDisk(
  real: Disk,
  { at, moment }: { readonly at: number; readonly moment: Moment },
  kill: () => Promise<never>,
): KillingDisk {
  let count = 0;
  let dead = false;
  const change =
    <A extends unknown[]>(call: (...args: A) => Promise<void>, half?: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      count += 1;
      // What has been killed does nothing more.
      if (dead) return await kill();
      if (count !== at || (moment === 'half' && half === undefined)) return await call(...args);
      dead = true;
      if (moment === 'half') await half?.(...args);
      if (moment === 'after') await call(...args);
      return await kill();
    };
  return {
    changes: () => count,
    disk: {
      ...real,
      rename: change(real.rename),
      link: change(real.link),
      unlink: change(real.unlink),
      makeDirectory: change(real.makeDirectory),
      removeDirectory: change(real.removeDirectory),
      create: change(real.create),
      append: change(real.append, (file, data) => real.append(file, data.slice(0, data.length / 2))),
    },
  };
}
