/** `nodemaint check`: whether the cluster's side is set up so that shutdowns wait for their pods. */
import { type Clock, createSystemClock } from '../../host/clock.ts';
import { type ClusterFacts, examineCluster } from '../../show/checks/cluster-checks.ts';
import type { Check } from '../../show/checks/node-checks.ts';
import { parseTimeout } from '../arguments/parse.ts';
import { type ClusterFlags, withCluster } from '../cluster/cluster.ts';
import { printChecks } from '../terminal/checks.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { readClusterFacts } from './facts.ts';

/** The flags of `nodemaint check`. */
export interface CheckFlags extends ClusterFlags {
  readonly selector?: string;
  /** Checks again until no check fails. */
  readonly wait?: boolean;
  /** For how long at most. */
  readonly timeout: string;
}

/** With --wait the cluster is checked again so often. */
const CHECK_EVERY_MS = 5_000;

/** The checks of the last look: none of them fails, or `untilMs` of the clock has come, or the signal is aborted. */
export async function checkUntil(
  read: (signal: AbortSignal) => Promise<ClusterFacts>,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  untilMs: number,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  for (;;) {
    const checks = examineCluster(await read(signal));
    const leftMs = untilMs - clock.monotonic();
    if (leftMs <= 0 || !checks.some(({ result }) => result === 'fail')) return checks;
    await clock.sleep(Math.min(CHECK_EVERY_MS, leftMs), signal);
  }
}

/** Checks the cluster. Returns the exit code: 1 where a check fails. Throws USAGE, KUBECONFIG_INVALID and API_UNREACHABLE. */
export async function checkCommand(flags: CheckFlags, terminal: Terminal): Promise<number> {
  const clock = createSystemClock();
  const timeoutMs = parseTimeout(flags.timeout) ?? Infinity;
  const untilMs = clock.monotonic() + (flags.wait === true ? timeoutMs : 0);
  return await withCluster(flags, 'nodemaint-check', terminal, async ({ client }) => {
    const scope = { clock, selector: flags.selector ?? '' };
    const checks = await checkUntil((signal) => readClusterFacts(client, scope, signal), clock, untilMs, terminal.stop);
    return printChecks(checks, flags.output, terminal);
  });
}
