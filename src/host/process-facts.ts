/** Facts about a process from /proc. Values that the process itself can choose are limited in size. */
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Longer files are cut: a hostile command line can be megabytes long, that of a kubelet is short. */
const MAX_READ_BYTES = 64 * 1024;
/** Nearly every file is shorter. */
const USUAL_BYTES = 4 * 1024;
/** Each process that is looked at takes a file descriptor. */
const READS_AT_ONCE = 32;

/** Reads the beginning of a file under /proc. Throws the errors of Node.js. */
async function readStart(file: string): Promise<string> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  let buffer = Buffer.alloc(USUAL_BYTES);
  let size = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, size, buffer.length - size, null);
    size += bytesRead;
    if (bytesRead === 0 || size === MAX_READ_BYTES) return buffer.toString('utf8', 0, size);
    if (size === buffer.length) buffer = Buffer.concat([buffer], MAX_READ_BYTES);
  }
}

/** The ids of all processes, in ascending order. */
async function listProcesses(): Promise<readonly number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

/** Those of all processes of which `read` tells something, in the order of their ids; some are read at the same time. */
export async function readEachProcess<T>(
  read: (pid: number) => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const pids = await listProcesses();
  const found: T[] = [];
  for (let from = 0; from < pids.length; from += READS_AT_ONCE) {
    signal.throwIfAborted();
    const some = await Promise.all(pids.slice(from, from + READS_AT_ONCE).map(read));
    found.push(...some.filter((each) => each !== undefined));
  }
  return found;
}

/** The words in the first 64 KiB of a process's command line; none if the process has ended or is a kernel thread. */
export async function readCommandLine(pid: number): Promise<readonly string[]> {
  const text = await readStart(`/proc/${pid}/cmdline`).catch(() => '');
  return text.split('\0').slice(0, -1);
}

/** Parses the text of /proc/PID/cgroup: one control group per hierarchy (cgroups(7)). */
export function cgroupsIn(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => /^\d+:[^:]*:(\/.*)$/.exec(line)?.[1] ?? []);
}

/** Reads /proc/PID/cgroup; '' if the process has ended. */
export async function readCgroupText(pid: number): Promise<string> {
  return await readStart(`/proc/${pid}/cgroup`).catch(() => '');
}

/** One process at one moment. */
interface ProcessReading {
  readonly argv: readonly string[];
  readonly name: string;
  readonly uids: readonly number[];
  readonly pidNamespaces: number;
  readonly cgroupText: string;
}

function numbersOf(status: string, field: string): readonly number[] {
  const line = new RegExp(`^${field}:(.*)$`, 'm').exec(status)?.[1] ?? '';
  return (line.match(/\d+/g) ?? []).map(Number);
}

/**
 * Reads one process. All values belong to the same process, even if its id is reused in the meantime. Undefined if it has
 * ended, or if its program or user changed while it was read.
 */
export async function readProcess(pid: number): Promise<ProcessReading | undefined> {
  try {
    await using folder = await open(`/proc/${pid}`, constants.O_RDONLY | constants.O_DIRECTORY);
    const read = async (name: string): Promise<string> =>
      await readStart(path.join('/proc/self/fd', String(folder.fd), name));
    const identity = (status: string): string => /^Name:.*$/m.exec(status)?.[0] + numbersOf(status, 'Uid').join(' ');
    const before = await read('status');
    const commandLine = await read('cmdline');
    const cgroupText = await read('cgroup');
    const status = await read('status');
    if (identity(before) !== identity(status)) return undefined;
    return {
      argv: commandLine.split('\0').slice(0, -1),
      name: /^Name:\t(.*)$/m.exec(status)?.[1] ?? '',
      uids: numbersOf(status, 'Uid'),
      pidNamespaces: numbersOf(status, 'NSpid').length,
      cgroupText,
    };
  } catch {
    return undefined;
  }
}
