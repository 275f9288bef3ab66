import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';
import { runService, type ServiceFlags } from '../../kube/service/service.ts';
import { runSurge } from './surge.ts';

export interface SurgeFlags extends ServiceFlags {
  /** A duration. */
  readonly timeout: string;
}

/** `nodemaint surge`: runs the interceptor of surges until the signal is aborted. Throws USAGE for an invalid duration. */
export async function surgeCommand(flags: SurgeFlags, signal: AbortSignal): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout);
  if (timeoutMs === undefined) throw new NodemaintError('USAGE', `--timeout: ${DURATION_HINT}`);
  await runService('nodemaint-surge', flags, (dependencies) => runSurge(dependencies, timeoutMs, signal));
}
