/** How the processes of a run begin and end: each ends with the runner, and says how much processor time it took. */
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** What a command has taken. */
export interface Cost {
  readonly wallSec: number;
  /** Of all processes that it has started and that have ended, too. */
  readonly cpuSec: number;
}

/** How a command ended. */
export interface Ended extends Cost {
  readonly passed: boolean;
  /** What it printed, where that was not printed at once. */
  readonly output: string;
}

/** How a command runs. */
export interface Command {
  readonly words: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether what it prints is printed when it has ended, rather than at once. */
  readonly keepsOutput?: boolean;
  /** Whether it has a process namespace, so that nothing outlives it. Needs root. */
  readonly inNamespace?: boolean;
}

/** The kernel ends a program when the process that started it ends, however that ends. */
const WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL', '--'];
/** The times of a shell and of its children, as 1m2.3s, in two lines. */
const TIMED = ['sh', '-c', '"$@"; code=$?; times >&3; exit "$code"', 'sh'];
const TIME = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*$/;
/** Process 1 of the namespace has to be a shell: it waits for the orphans of killed programs, which Node.js does not. */
const FIRST_PROCESS = ['sh', '-c', '"$@"; exit $?', 'sh'];
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', '--', ...FIRST_PROCESS];

/** Whether processes of this run can have namespaces. */
export const HAS_NAMESPACES = process.platform === 'linux' && process.getuid?.() === 0;

function wordsOf({ words, inNamespace = false }: Command): readonly string[] {
  if (process.platform !== 'linux') return [...TIMED, ...words];
  return [...WITH_PARENT, ...TIMED, ...WITH_PARENT, ...(inNamespace ? NAMESPACE : []), ...words];
}

/** Everything that comes out of these streams, as it comes. */
function collect(child: ChildProcess, numbers: readonly number[]): () => string {
  const chunks: Buffer[] = [];
  for (const number of numbers) {
    const stream = child.stdio[number];
    if (stream !== null && stream !== undefined && 'on' in stream)
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
  }
  return () => Buffer.concat(chunks).toString();
}

/** Runs a command to its end; one that a signal ended has failed. */
export async function runCommand(command: Command): Promise<Ended> {
  const beganAt = performance.now();
  const [program = '', ...args] = wordsOf(command);
  const own = command.keepsOutput === true ? 'pipe' : 'inherit';
  const env = { ...process.env, ...command.variables };
  const child = spawn(program, args, { stdio: ['ignore', own, own, 'pipe'], env });
  const [output, times] = [collect(child, [1, 2]), collect(child, [3])];
  const passed = await new Promise<boolean>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0));
  });
  const [, ...numbers] = TIME.exec(times()) ?? [];
  const [userMin = 0, userSec = 0, systemMin = 0, systemSec = 0] = numbers.map(Number);
  const cpuSec = (userMin + systemMin) * 60 + userSec + systemSec;
  return { passed, output: output(), wallSec: (performance.now() - beganAt) / 1_000, cpuSec };
}

/** Waits until no other process on this machine has the lock of this name; it ends with this process. */
export async function takeLock(name: string): Promise<Disposable> {
  const file = path.join(tmpdir(), `nodemaint-${name}.lock`);
  const child = spawn('flock', [file, 'sh', '-c', 'echo taken; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = setTimeout(() => {
    console.error(`--- another process of the tests does this; this one waits for ${file}`);
  }, 1_000);
  await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stdout.once('data', resolve);
  });
  clearTimeout(waiting);
  child.stdout.destroy();
  child.unref();
  return { [Symbol.dispose]: () => child.stdin.destroy() };
}
