/**
 * Runs a program with limited time and limited output, in its own process group. When the time is over, the whole group is
 * killed. Processes that a finished program leaves behind are not killed; the limits of the agent's unit apply to them.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import process from 'node:process';

/** Error output beyond this is read and dropped. */
const MAX_STDERR_BYTES = 500;
/** A killed process that has not ended after this time is not waited for: it may wait in the kernel for a dead disk. */
const KILLED_WITHIN_MS = 1_000;

interface ProgramLimits {
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}

/** Runs the file without arguments. Resolves to the reason of a failure, or to undefined. Throws only the signal's reason. */
export async function runProgram(
  file: string,
  { env, timeoutMs }: ProgramLimits,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<string | undefined>();
  const child = spawn(file, [], { env, cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  // Without memory the kernel must kill the program before the agent.
  if (child.pid !== undefined) writeFile(`/proc/${child.pid}/oom_score_adj`, '0').catch(() => undefined);
  let stderrText = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    stderrText = Buffer.concat([stderrText, chunk.subarray(0, MAX_STDERR_BYTES - stderrText.length)]);
  });
  child.stderr.on('error', () => undefined);
  child.on('error', (error) => {
    ended.resolve(error.message);
  });
  child.on('exit', (code, killedBy) => {
    const how = killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`;
    ended.resolve(code === 0 ? undefined : `${how} ${stderrText.toString().trim()}`.trim());
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
      late = `it was killed after ${timeoutMs} ms, with its process group`;
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
    // Processes that it has left behind may keep the pipe open; the agent does not wait for them.
    child.stderr.destroy();
    child.unref();
  }
}
