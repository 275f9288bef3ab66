/**
 * A program of this machine, run for a limited time, with limited output, in a process group of its own: where its time is
 * over, the whole group is killed. What a program that ended by itself has left running is left alone; it counts towards
 * the limits of the agent's unit.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import process from 'node:process';

/** So much of what it complains about is kept; the rest is read and thrown away. */
const MAX_COMPLAINT_BYTES = 500;
/** A process that the kernel does not let end, as one that waits for a dead disk, is not waited for any longer. */
const KILLED_WITHIN_MS = 1_000;

export interface ProgramLimits {
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/** Runs the file without arguments; resolves to how it failed, or to undefined. Throws the signal's reason, never else. */
export async function runProgram(
  file: string,
  { env, timeoutMs }: ProgramLimits,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<string | undefined>();
  const child = spawn(file, [], { env, cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  // Before the agent, when the unit has no memory left.
  if (child.pid !== undefined) writeFile(`/proc/${child.pid}/oom_score_adj`, '0').catch(() => undefined);
  let complaint = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = Buffer.concat([complaint, chunk.subarray(0, MAX_COMPLAINT_BYTES - complaint.length)]);
  });
  child.stderr.on('error', () => undefined);
  child.on('error', (error) => {
    ended.resolve(error.message);
  });
  child.on('exit', (code, killedBy) => {
    const how = killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`;
    ended.resolve(code === 0 ? undefined : `${how} ${complaint.toString().trim()}`.trim());
  });
  const timers: NodeJS.Timeout[] = [];
  const end = (why: string): void => {
    killGroup(child.pid);
    timers.push(
      setTimeout(() => {
        ended.resolve(why);
      }, KILLED_WITHIN_MS),
    );
    child.once('exit', () => {
      ended.resolve(why);
    });
  };
  const onAbort = (): void => {
    end('the agent ends');
  };
  signal.addEventListener('abort', onAbort, { once: true });
  let late: string | undefined;
  timers.push(
    setTimeout(() => {
      late = `it was killed after ${timeoutMs} ms, with all that it had started`;
      end(late);
    }, timeoutMs),
  );
  try {
    const failure = await ended.promise;
    signal.throwIfAborted();
    return late ?? failure;
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const timer of timers) clearTimeout(timer);
    // What it has left running may keep this open; nobody waits for that.
    child.stderr.destroy();
    child.unref();
  }
}
