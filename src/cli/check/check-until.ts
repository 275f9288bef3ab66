import { type ClusterFacts, examineCluster } from '../../show/checks/cluster-checks.ts';
import type { Check } from '../../show/checks/node-checks.ts';
import type { Clock } from '../../host/clock.ts';

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
