import type { StateDisk } from '../../../src/host/files/state-files.ts';
import type { Disk } from '../../../src/static-pods/disk/disk.ts';

/** What a full, a read-only and a broken disk answer. */
export const DISK_ERRORS = ['ENOSPC', 'EROFS', 'EIO'] as const;
export type DiskError = (typeof DISK_ERRORS)[number];

/** Which writes fail, counted from 1, and as what. */
export interface Failure {
  readonly from: number;
  /** Infinity: it stays broken. */
  readonly count: number;
  readonly code: DiskError;
  /** Whether a path is on the broken disk. */
  readonly isOn: (file: string) => boolean;
}

/** Decides for each write whether it fails. */
export class Fault {
  writes = 0;
  failed = 0;
  isRepaired = false;
  readonly #failure: Failure;

  constructor(failure: Failure) {
    this.#failure = failure;
  }

  /** Counts a write to these paths; throws where it is to fail. */
  write(...files: readonly string[]): void {
    const { from, count, code, isOn } = this.#failure;
    if (!files.some(isOn)) return;
    this.writes += 1;
    if (this.isRepaired || this.writes < from || this.writes >= from + count) return;
    this.failed += 1;
    throw Object.assign(new Error(`${code}: write ${this.writes}`), { code });
  }
}

/** The mover's disk with failing writes; what makes things durable may fail too. */
export function failingDisk(real: Disk, fault: Fault): Disk {
  const failing =
    <A extends readonly unknown[]>(call: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      fault.write(...args.filter((arg) => typeof arg === 'string' && arg.startsWith('/')).map(String));
      await call(...args);
    };
  return {
    ...real,
    rename: failing(real.rename),
    link: failing(real.link),
    unlink: failing(real.unlink),
    makeDirectory: failing(real.makeDirectory),
    removeDirectory: failing(real.removeDirectory),
    create: failing(real.create),
    append: failing(real.append),
    syncFile: failing(real.syncFile),
    syncDirectory: failing(real.syncDirectory),
  };
}

/** The agent's small files on a disk with failing writes. */
export function failingStateDisk(real: StateDisk, fault: Fault): StateDisk {
  return {
    ...real,
    makeDirectory: async (directory) => {
      fault.write(directory);
      await real.makeDirectory(directory);
    },
    replace: async (file, data) => {
      fault.write(file);
      await real.replace(file, data);
    },
    remove: async (file) => {
      fault.write(file);
      await real.remove(file);
    },
    rename: async (from, to) => {
      fault.write(from, to);
      await real.rename(from, to);
    },
  };
}
