import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Phase } from '../decide/shutdown-phase.ts';
import { rfc3339 } from '../decide/time.ts';
import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';

/** The moments at which programs of this machine are called; each has a folder of its name. */
export type HookName = 'pre-drain' | 'drained' | 'pre-release' | 'restored';

/** Calls programs of this machine when the phase changes. */
export interface Hooks {
  /** Returns when all have ended or their time is over; a failure is logged and changes nothing. */
  phaseChanged(before: Phase, after: Phase, signal: AbortSignal): Promise<void>;
}

/** Of the time that is left before a deadline, programs get so much. */
const DEADLINE_SHARE = 0.1;
const LEAST_MS = 1_000;
const MAX_OUTPUT = 64 * 1024;
/** A name as run-parts takes it: no backup copies, no hidden files. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

/** The moments that a change of phase is, in their order. */
export function hooksOf(before: Phase, after: Phase): readonly HookName[] {
  if (before.kind === after.kind) return [];
  switch (after.kind) {
    case 'draining':
      return ['pre-drain'];
    case 'released':
      return ['drained', 'pre-release'];
    case 'watching':
      return before.kind === 'recovering' ? ['restored'] : [];
    case 'recovering':
      return [];
  }
}

/** Why nobody but root could have put it there is not sure; undefined where it is. */
async function distrust(place: string): Promise<string | undefined> {
  const { uid, mode } = await stat(place);
  if (uid !== 0) return 'it is not owned by root';
  return (mode & 0o022) === 0 ? undefined : 'its group or everybody may write it';
}

/** Makes the caller; a folder that is not there has no programs. */
export function createHooks(
  options: { readonly directory: string; readonly timeoutMs: number; readonly nodeName: string },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Hooks {
  const { directory, timeoutMs, nodeName } = options;

  const programsOf = async (folder: string): Promise<readonly string[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        log.warn({ folder, reason: describeError(error) }, 'cannot read the hooks');
      }
      return [];
    });
    const good: string[] = [];
    for (const name of names.filter((each) => NAME.test(each)).toSorted()) {
      const file = path.join(folder, name);
      const reason = (await distrust(directory)) ?? (await distrust(folder)) ?? (await distrust(file));
      if (reason === undefined) good.push(file);
      else log.warn({ hook: file, reason }, 'hook not run');
    }
    return good;
  };

  const call = async (file: string, env: NodeJS.ProcessEnv, timeout: number, signal: AbortSignal): Promise<void> => {
    const startedAt = clock.now();
    const failure = await new Promise<string | undefined>((resolve) => {
      const limits = { env, timeout, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT, signal, cwd: '/' } as const;
      const child = execFile(file, [], limits, (error, _stdout, stderr) => {
        if (error === null) resolve(undefined);
        else if (error.killed === true) resolve(`it was killed after ${timeout} ms`);
        else resolve(`${error.message.split('\n', 1)[0] ?? ''} ${stderr.slice(0, 500)}`.trim());
      });
      child.stdin?.end();
      // What it leaves behind may keep its output open; nobody waits for that.
      child.on('exit', () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
    });
    const took = { hook: file, ms: clock.now() - startedAt };
    if (failure === undefined) log.info(took, 'hook done');
    else log.warn({ ...took, reason: failure }, 'hook failed');
  };

  return {
    phaseChanged: async (before, after, signal) => {
      for (const name of hooksOf(before, after)) {
        const of = after.kind === 'watching' ? before : after;
        if (of.kind === 'watching') continue;
        const { deadline } = of;
        const share = deadline === undefined ? Infinity : (deadline.at - clock.now()) * DEADLINE_SHARE;
        const until = clock.now() + Math.max(LEAST_MS, Math.min(timeoutMs, share));
        const env = {
          PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          NODEMAINT_HOOK: name,
          NODEMAINT_NODE: nodeName,
          NODEMAINT_REASON: of.reason.replaceAll('\0', ''),
          NODEMAINT_ORIGIN: of.origin,
          NODEMAINT_MAINTENANCE: of.maintenance,
          ...(deadline === undefined ? {} : { NODEMAINT_DEADLINE: rfc3339(deadline.at) }),
        };
        for (const file of await programsOf(path.join(directory, name))) {
          const left = until - clock.now();
          if (left <= 0) log.warn({ hook: file }, 'hook not run, the time of all hooks is over');
          else await call(file, env, Math.ceil(left), signal);
        }
      }
    },
  };
}
