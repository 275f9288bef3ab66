import { spawn } from 'node:child_process';
import process from 'node:process';
import { waitFor } from '../wait-for.ts';
import { PROGRAM } from './program.ts';

const WAIT_MS = 20_000;

/** How a command ended. */
export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of a command. */
export interface CommandRun extends AsyncDisposable {
  /** The lines of its standard output so far, without their times. */
  lines(): readonly string[];
  /** Waits for a line of its standard output. */
  line(pattern: RegExp, timeoutMs?: number): Promise<string>;
  interrupt(): void;
  end(): Promise<CommandEnd>;
}

/** Starts `nodemaint ARGS` in an environment without a kubeconfig of its own. */
export function startCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): CommandRun {
  const child = spawn(process.execPath, [...PROGRAM, ...args], {
    env: { ...process.env, KUBECONFIG: '', HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<CommandEnd>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  const lines = (): readonly string[] =>
    stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replace(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z /, ''));
  return {
    lines,
    line: async (pattern, timeoutMs = WAIT_MS) => {
      const find = (): string | undefined => lines().find((line) => pattern.test(line));
      const ask = (): Promise<boolean> => Promise.resolve(find() !== undefined || child.exitCode !== null);
      await waitFor(`a line like ${pattern}`, ask, { timeoutMs }).catch((error: unknown) => {
        throw new Error(`no line like ${pattern} in:\n${stdout}${stderr}`, { cause: error });
      });
      const found = find();
      if (found === undefined) throw new Error(`it ended without a line like ${pattern}:\n${stdout}${stderr}`);
      return found;
    },
    interrupt: () => child.kill('SIGINT'),
    end: () => ended,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs `nodemaint ARGS` to its end. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandEnd> {
  await using run = startCommand(args, env);
  return await run.end();
}
