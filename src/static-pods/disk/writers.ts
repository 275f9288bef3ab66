import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../../errors.ts';

const PROC = '/proc';
/** The last bits of the flags in /proc/PID/fdinfo/FD: 0 is read only (proc_pid_fdinfo(5), open(2)). */
const ACCESS_MODE = 3;

/** The processes that have a file open for writing, as far as the kernel shows them. */
export interface OpenForWriting {
  /** Ids of processes. */
  readonly writers: readonly number[];
  /**
   * Whether there may be more writers: the kernel shows the open files of a process only to a process that may trace it, and
   * the agent's unit may not trace processes that have more capabilities than itself.
   */
  readonly maybeOthers: boolean;
}

/** Errors for a process or a descriptor that has ended while it was read. */
const GONE = ['ENOENT', 'ESRCH'];

/** The result of `call`; 'gone' if the process has ended, 'hidden' if this process may not read it. */
async function attempt<T>(call: Promise<T>): Promise<T | 'gone' | 'hidden'> {
  try {
    return await call;
  } catch (error) {
    return GONE.includes(String(errorCodeOf(error))) ? 'gone' : 'hidden';
  }
}

type Found = 'writes' | 'does not' | 'hidden';

async function opensForWriting(process: string, dev: bigint, ino: bigint): Promise<Found> {
  const folder = path.join(PROC, process, 'fd');
  const descriptors = await attempt(readdir(folder));
  if (descriptors === 'gone') return 'does not';
  if (descriptors === 'hidden') return 'hidden';
  let found: Found = 'does not';
  for (const descriptor of descriptors) {
    const file = await attempt(stat(path.join(folder, descriptor), { bigint: true }));
    if (file === 'hidden') found = 'hidden';
    if (typeof file === 'string' || file.ino !== ino || file.dev !== dev) continue;
    const info = await attempt(readFile(path.join(PROC, process, 'fdinfo', descriptor), 'utf8'));
    if (info === 'gone') continue;
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1];
    if (flags === undefined) found = 'hidden';
    else if ((Number.parseInt(flags, 8) & ACCESS_MODE) !== 0) return 'writes';
  }
  return found;
}

/**
 * Finds the processes that have `file` open for writing: a process can write into an open file even after the file has lost
 * its name, and only the kernel's list of open files shows that. Throws ENOENT if there is no file.
 */
export async function findWriters(file: string): Promise<OpenForWriting> {
  const { dev, ino } = await lstat(file, { bigint: true });
  const processes = (await readdir(PROC)).filter((name) => /^\d+$/.test(name));
  const writers: number[] = [];
  // If /proc hides the processes of other users, process 1 is missing too.
  let maybeOthers = !processes.includes('1');
  for (const process of processes) {
    const found = await opensForWriting(process, dev, ino);
    if (found === 'writes') writers.push(Number(process));
    if (found === 'hidden') maybeOthers = true;
  }
  return { writers, maybeOthers };
}
