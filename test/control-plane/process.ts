import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/** A program of the test rig, whose output goes to a file. */
export interface Program extends AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  readonly pid: number;
  exited(): boolean;
  /** SIGTERM, and SIGKILL after `graceMs`, 5 s unless told; resolves when it is gone. */
  stop(graceMs?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** The end of what it printed. */
  tail(): Promise<string>;
}

type Command = readonly [string, ...string[]];

const STOP_MS = 5_000;
const TAIL_LINES = 25;
/** Makes the kernel end a program when its parent ends, however that ends. */
const WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Resolves to whether the process ended within `ms`. */
async function ended(child: ChildProcess, ms: number): Promise<boolean> {
  if (hasEnded(child)) return true;
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** The only child of a process, or undefined as long as it has none. */
export function childOf(pid: number): number | undefined {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return first === undefined || first === '' ? undefined : Number(first);
  } catch {
    return undefined;
  }
}

interface Launch {
  readonly name: string;
  readonly command: Command;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  /** Which process to signal, given the one that was spawned. */
  readonly target: (spawned: number) => number;
}

function launch({ name, command, logFile, env, target }: Launch): Program {
  const log = openSync(logFile, 'a');
  const [file, ...args] = [...WITH_PARENT, ...command];
  const child = spawn(file, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
  closeSync(log);
  child.on('error', () => undefined);
  const spawned = child.pid ?? 0;
  const kill = (signal: NodeJS.Signals): void => {
    if (hasEnded(child)) return;
    try {
      process.kill(target(spawned), signal);
    } catch {
      // It ended before the signal came.
    }
  };
  const stop = async (graceMs = STOP_MS): Promise<void> => {
    kill('SIGTERM');
    if (await ended(child, graceMs)) return;
    kill('SIGKILL');
    await ended(child, STOP_MS);
  };
  return {
    name,
    logFile,
    get pid() {
      return target(spawned);
    },
    exited: () => hasEnded(child),
    stop,
    kill,
    tail: async () => (await readFile(logFile, 'utf8')).split('\n').slice(-TAIL_LINES).join('\n'),
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** Starts a program that dies with this process, whatever happens to it. */
export function startProgram(command: Command, logFile: string, env: NodeJS.ProcessEnv = {}): Program {
  return launch({ name: path.basename(command[0]), command, logFile, env, target: (spawned) => spawned });
}

/** Starts a program in a child that `wrapper` forks, such as nsenter or unshare; signals go to the program itself. */
export function startWrapped(wrapper: Command, command: Command, logFile: string): Program {
  return launch({
    name: path.basename(command[0]),
    command: [...wrapper, ...WITH_PARENT, ...command],
    logFile,
    env: {},
    target: (spawned) => childOf(spawned) ?? spawned,
  });
}
