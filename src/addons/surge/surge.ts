import type { ServiceDependencies } from '../../kube/service/service.ts';
import { runInterceptor } from '../../kube/eviction/interceptor-loop.ts';
import { createSurgeInterceptor } from './interceptor.ts';
import { createLeftOvers, type LeftOvers } from './left-overs.ts';

/** Runs the interceptor of surges until the signal is aborted. A Deployment waits at most `timeoutMs` for another pod. */
export async function runSurge(
  dependencies: ServiceDependencies,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const leftOvers: LeftOvers = createLeftOvers(dependencies);
  const interceptor = createSurgeInterceptor(dependencies, timeoutMs, () => {
    leftOvers.look();
  });
  await Promise.all([runInterceptor(interceptor, {}, dependencies, signal), leftOvers.run(signal)]);
}
