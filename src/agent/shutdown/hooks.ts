import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { rfc3339 } from '../../decide/time.ts';
import { describeError, errorCodeOf } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { runProgram } from '../../host/program.ts';
import { describeRefusal, judgePath, type PathTrust } from '../../host/files/trusted-path.ts';
import type { Log } from '../../telemetry/log.ts';

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
/** So often the agent says that it lives while it waits for a program, which may take longer than a turn of its loop. */
const ALIVE_MS = 15_000;
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

interface HookOptions {
  readonly directory: string;
  readonly timeoutMs: number;
  readonly nodeName: string;
  /** Whom to believe; only tests say so. */
  readonly trust?: PathTrust;
}

interface HookDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** Says that the agent's loop does not hang. */
  readonly alive: () => void;
}

/** Makes the caller; a folder that is not there has no programs. */
export function createHooks(
  { directory, timeoutMs, nodeName, trust }: HookOptions,
  { clock, log, alive }: HookDependencies,
): Hooks {
  const programsOf = async (folder: string): Promise<readonly string[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (errorCodeOf(error) !== 'ENOENT') {
        log.warn({ folder, reason: describeError(error) }, 'cannot read the hooks');
      }
      return [];
    });
    const good: string[] = [];
    for (const name of names.filter((each) => NAME.test(each)).toSorted()) {
      const verdict = await judgePath(path.join(folder, name), { kind: 'file', lastLink: 'follow' }, trust);
      // The path without links is run: none that was looked at counts any more.
      if (verdict.kind === 'trusted') good.push(verdict.path);
      else {
        const reason = verdict.kind === 'refused' ? describeRefusal(verdict) : `${verdict.path} is not there`;
        log.warn({ hook: path.join(folder, name), reason }, 'hook not run');
      }
    }
    return good;
  };

  const call = async (file: string, env: NodeJS.ProcessEnv, left: number, signal: AbortSignal): Promise<void> => {
    const startedAt = clock.monotonic();
    const timer = setInterval(alive, ALIVE_MS);
    let failure: string | undefined;
    try {
      failure = await runProgram(file, { env, timeoutMs: left }, signal);
    } finally {
      clearInterval(timer);
    }
    const took = { hook: file, ms: clock.monotonic() - startedAt };
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
        const until = clock.monotonic() + Math.max(LEAST_MS, Math.min(timeoutMs, share));
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
          const left = until - clock.monotonic();
          if (left <= 0) log.warn({ hook: file }, 'hook not run, the time of all hooks is over');
          else await call(file, env, Math.ceil(left), signal);
        }
      }
    },
  };
}
