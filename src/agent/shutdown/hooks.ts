import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { AgentConfig } from '../../config/schema.ts';
import type { Shutdown } from '../../decide/shutdown/phase.ts';
import type { Transition, TransitionName } from '../../decide/shutdown/transition.ts';
import { rfc3339 } from '../../decide/time.ts';
import { describeError, errorCodeOf } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { runProgram } from '../../host/run-program.ts';
import { describeRefusal, judgePath, type PathTrust } from '../../host/files/trusted-path.ts';
import type { Log } from '../../telemetry/log.ts';

/** The moments at which the administrator's programs are run; each has a folder of its name. */
export type HookName = 'pre-drain' | 'drained' | 'pre-release' | 'restored';

/** Runs the administrator's programs when the phase changes. */
interface Hooks {
  /** Returns when all programs have ended or their time is over. A program that fails is logged and changes nothing. */
  run(transition: Transition, signal: AbortSignal): Promise<void>;
}

/** All programs of a moment together get this share of the time before a deadline. */
const DEADLINE_SHARE = 0.1;
/** Programs get this time together even where the deadline is close or over. */
const LEAST_MS = 1_000;
/** While a program runs, progress is reported to the watchdog so often: a hook may take longer than an iteration of the loop. */
const PROGRESS_MS = 15_000;
/** A name that run-parts accepts: no backup copies, no hidden files. Files with other names are ignored. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

/** The moments that transitions are, in their order; the others are none. */
export const MOMENTS: Partial<Record<TransitionName, readonly HookName[]>> = {
  begin: ['pre-drain'],
  finish: ['drained', 'pre-release'],
  force: ['drained', 'pre-release'],
  settle: ['restored'],
};

interface HookParts {
  readonly config: Pick<AgentConfig, 'hooksDirectory' | 'hookTimeoutSec'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Reports to the watchdog that the agent's loop does not hang. */
  readonly markProgress: () => void;
  /** The owners that are trusted; only tests set it. */
  readonly trust?: PathTrust;
}

/** The programs of a folder that may be run, in the order of their names; a folder that is missing has none. */
async function programsOf(folder: string, trust: PathTrust | undefined, log: Log): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCodeOf(error) !== 'ENOENT') {
      log.warn({ folder, reason: describeError(error) }, 'cannot read the hooks');
    }
    return [];
  });
  const programs: string[] = [];
  for (const name of names.filter((each) => NAME.test(each)).toSorted()) {
    const verdict = await judgePath(path.join(folder, name), { kind: 'file', lastLink: 'follow' }, trust);
    // The path without links is run: a link that was followed for the verdict could be changed before the call.
    if (verdict.kind === 'trusted') programs.push(verdict.path);
    else {
      const reason = verdict.kind === 'refused' ? describeRefusal(verdict) : `${verdict.path} is not there`;
      log.warn({ hook: path.join(folder, name), reason }, 'hook not run');
    }
  }
  return programs;
}

/** The environment of a hook (docs, "Hooks"). */
function environmentOf(hook: HookName, nodeName: string, shutdown: Shutdown): NodeJS.ProcessEnv {
  const { reason, origin, maintenance, deadline } = shutdown;
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODEMAINT_HOOK: hook,
    NODEMAINT_NODE: nodeName,
    NODEMAINT_REASON: reason.replaceAll('\0', ''),
    NODEMAINT_ORIGIN: origin,
    NODEMAINT_MAINTENANCE: maintenance,
    ...(deadline === undefined ? {} : { NODEMAINT_DEADLINE: rfc3339(deadline.at) }),
  };
}

/** Runs the programs in the folders `pre-drain`, `drained`, `pre-release` and `restored` of the hooks' directory. */
export function createHooks({ config, nodeName, clock, log, markProgress, trust }: HookParts): Hooks {
  const { hooksDirectory, hookTimeoutSec } = config;
  const call = async (file: string, env: NodeJS.ProcessEnv, left: number, signal: AbortSignal): Promise<void> => {
    const startedAt = clock.monotonic();
    const timer = setInterval(markProgress, PROGRESS_MS);
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
  const runHook = async (hook: HookName, shutdown: Shutdown, signal: AbortSignal): Promise<void> => {
    const { deadline } = shutdown;
    const share = deadline === undefined ? Infinity : (deadline.at - clock.now()) * DEADLINE_SHARE;
    const until = clock.monotonic() + Math.max(LEAST_MS, Math.min(hookTimeoutSec * 1000, share));
    const env = environmentOf(hook, nodeName, shutdown);
    for (const file of await programsOf(path.join(hooksDirectory, hook), trust, log)) {
      const left = until - clock.monotonic();
      if (left <= 0) log.warn({ hook: file }, 'hook not run, the time of all hooks is over');
      else await call(file, env, Math.ceil(left), signal);
    }
  };
  return {
    run: async (transition, signal) => {
      const shutdown = transition.to.kind === 'watching' ? transition.from : transition.to;
      if (shutdown.kind === 'watching') return;
      for (const hook of MOMENTS[transition.name] ?? []) await runHook(hook, shutdown, signal);
    },
  };
}
