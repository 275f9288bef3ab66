import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';

const PROC = '/proc';
/** The last bits of the flags in /proc/PID/fdinfo/FD: 0 is read only (proc_pid_fdinfo(5), open(2)). */
const ACCESS_MODE = 3;

/** What `call` gives, or undefined: a process or a descriptor may end at any time while it is looked at. */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch {
    return undefined;
  }
}

async function opensForWriting(process: string, dev: bigint, ino: bigint): Promise<boolean> {
  const folder = path.join(PROC, process, 'fd');
  for (const descriptor of (await unlessGone(readdir(folder))) ?? []) {
    const file = await unlessGone(stat(path.join(folder, descriptor), { bigint: true }));
    if (file?.ino !== ino || file.dev !== dev) continue;
    const info = (await unlessGone(readFile(path.join(PROC, process, 'fdinfo', descriptor), 'utf8'))) ?? '';
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1];
    if (flags !== undefined && (Number.parseInt(flags, 8) & ACCESS_MODE) !== 0) return true;
  }
  return false;
}

/**
 * The ids of the processes that have `file` open for writing. Whoever has no name for the file any more can still write
 * into it, and only the kernel's list of open files tells. Throws ENOENT where there is no file.
 */
export async function findWriters(file: string): Promise<readonly number[]> {
  const { dev, ino } = await lstat(file, { bigint: true });
  const writers: number[] = [];
  for (const process of await readdir(PROC)) {
    if (/^\d+$/.test(process) && (await opensForWriting(process, dev, ino))) writers.push(Number(process));
  }
  return writers;
}
