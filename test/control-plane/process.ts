import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/** A program of the test rig, whose output goes to a file. */
export interface Program extends AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  readonly pid: number;
  exited(): boolean;
  /** SIGTERM, and SIGKILL after 5 s; resolves when it is gone. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** The end of what it printed. */
  tail(): Promise<string>;
}

const STOP_MS = 5_000;

/** Resolves to whether the process ended within `ms`. */
async function ended(child: ChildProcess, ms: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true;
  return await new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false);
    }, ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Starts a program that dies with this process, whatever happens to it. */
export function startProgram(
  command: readonly [string, ...string[]],
  logFile: string,
  env: NodeJS.ProcessEnv = {},
): Program {
  const log = openSync(logFile, 'a');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  child.on('error', () => undefined);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    if (await ended(child, STOP_MS)) return;
    child.kill('SIGKILL');
    await ended(child, STOP_MS);
  };
  return {
    name: path.basename(command[0]),
    logFile,
    pid: child.pid ?? 0,
    exited: () => child.exitCode !== null || child.signalCode !== null,
    stop,
    kill: (signal) => child.kill(signal),
    tail: async () => (await readFile(logFile, 'utf8')).split('\n').slice(-25).join('\n'),
    [Symbol.asyncDispose]: stop,
  };
}

/** Asks every 50 ms until the answer is true; fails with the program's last words when it ends or time runs out. */
export async function waitUntil(
  what: string,
  ask: () => Promise<boolean>,
  options: { readonly timeoutMs: number; readonly program?: Program },
  signal: AbortSignal,
): Promise<void> {
  const { timeoutMs, program } = options;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    if (await ask().catch(() => false)) return;
    const over = program?.exited() === true ? `${program.name} has ended` : Date.now() > deadline ? 'time ran out' : '';
    if (over !== '') throw new Error(`${what}: ${over}\n${(await program?.tail()) ?? ''}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}
