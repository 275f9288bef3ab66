import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';
import { runService, type ServiceFlags } from '../../kube/service/service.ts';
import { runLifecycle } from './lifecycle.ts';

export interface LifecycleFlags extends ServiceFlags {
  /** Durations. */
  readonly takeOverTimeout: string;
  readonly promiseTimeout: string;
  readonly promiseWords?: readonly string[];
}

function milliseconds(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new NodemaintError('USAGE', `${flag}: ${DURATION_HINT}`);
  return ms;
}

/** `nodemaint lifecycle`: runs the controllers until the signal is aborted. Throws USAGE for an invalid duration. */
export async function lifecycleCommand(flags: LifecycleFlags, signal: AbortSignal): Promise<void> {
  const { takeOverTimeout, promiseTimeout, promiseWords } = flags;
  const patience = {
    takeOverMs: milliseconds('--take-over-timeout', takeOverTimeout),
    promiseMs: milliseconds('--promise-timeout', promiseTimeout),
  };
  const options = { patience, ...(promiseWords === undefined ? {} : { promiseWords }) };
  await runService('nodemaint-lifecycle', flags, (dependencies) => runLifecycle(dependencies, { options }, signal));
}
