import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import type { Disk } from '../../../src/static-pods/disk/disk.ts';

/**
 * The system calls of the machine's disk without a thread, a program or all of /proc for each: for tens of thousands of
 * runs in which nothing but the process ends, so that nothing has to be made durable.
 */
export function createQuickDisk(): Disk {
  return {
    rename: async (from, to) => renameSync(from, to),
    link: async (from, to) => linkSync(from, to),
    unlink: async (file) => unlinkSync(file),
    makeDirectory: async (directory, mode) => {
      if (!existsSync(directory)) mkdirSync(directory, { mode });
    },
    removeDirectory: async (directory) => {
      if (existsSync(directory) && readdirSync(directory).length === 0) rmdirSync(directory);
    },
    create: async (file, mode) => writeFileSync(file, '', { mode }),
    append: async (file, data) => appendFileSync(file, data),
    syncFile: async () => {},
    syncDirectory: async () => {},
    list: async (directory) => (existsSync(directory) ? readdirSync(directory).sort() : []),
    identify: async (file) => {
      const stats = lstatSync(file, { throwIfNoEntry: false });
      return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
    },
    fingerprint: async (file) => {
      const stats = lstatSync(file, { throwIfNoEntry: false });
      if (stats === undefined) return undefined;
      const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
      return { kind: 'file', sha256, mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid };
    },
  };
}
