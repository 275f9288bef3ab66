import { readFile } from 'node:fs/promises';
import process from 'node:process';

/** What a Node.js process takes at one moment. */
export interface ProcessFigures {
  /** Resident memory as it lies, garbage included, in MiB. */
  readonly residentMiB: number;
  /** JavaScript heap that is still used right after a full collection, in MiB. */
  readonly liveHeapMiB: number;
  /** Processor time since its start, in milliseconds. */
  readonly cpuMs: number;
}

const MIB = 1024 * 1024;
/** USER_HZ, which is 100 on every Linux that Node.js runs on. */
const TICK_MS = 10;
const INSPECTOR_MS = 10_000;

/** Options for NODE_OPTIONS by which a process opens its inspector at a port of ours, once it gets SIGUSR1. */
export function inspectorOptions(port: number): string {
  return `--inspect-port=127.0.0.1:${port}`;
}

/** The resident memory of a process in MiB. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Where the resident memory of a process lies, in MiB. */
export interface ResidentParts {
  /** Heap, buffers and stacks of its own. */
  readonly anonymous: number;
  /** Pages of its program, its libraries and its files, which other processes may share. */
  readonly files: number;
}

export async function residentParts(pid: number): Promise<ResidentParts> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const part = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { anonymous: part('RssAnon'), files: part('RssFile') };
}

/** The processor time of a process since its start, in milliseconds. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name may hold blanks; it ends with the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The address of the process's inspector, which takes a moment to open. */
async function inspectorUrl(port: number): Promise<string> {
  const deadline = Date.now() + INSPECTOR_MS;
  for (;;) {
    try {
      const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
        webSocketDebuggerUrl: string;
      }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

async function liveHeapMiB(pid: number, port: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await inspectorUrl(port));
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    const call = async (id: number, method: string): Promise<unknown> => {
      const answered = new Promise((resolve) => {
        socket.addEventListener('message', ({ data }) => {
          const message = JSON.parse(String(data)) as { id?: number; result?: unknown };
          if (message.id === id) resolve(message.result);
        });
      });
      socket.send(JSON.stringify({ id, method }));
      return await answered;
    };
    await call(1, 'HeapProfiler.collectGarbage');
    const usage = (await call(2, 'Runtime.getHeapUsage')) as { usedSize: number };
    return usage.usedSize / MIB;
  } finally {
    socket.close();
  }
}

/** Measures a process that was started with `inspectorOptions(port)`; the collection comes after the resident memory. */
export async function measureProcess(pid: number, port: number): Promise<ProcessFigures> {
  const [resident, cpu] = [await residentMiB(pid), await cpuMs(pid)];
  return { residentMiB: resident, cpuMs: cpu, liveHeapMiB: await liveHeapMiB(pid, port) };
}
