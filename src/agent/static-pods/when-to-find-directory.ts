import type { Iteration } from '../iteration/step.ts';

/**
 * Looks for the static pod directory again when a drain of this node begins: the kubelet may have been restarted with
 * another directory since. A look that fails is repeated in the next iteration.
 */
export function createRelocation(
  isDrained: (iteration: Iteration) => boolean,
  locate: (signal: AbortSignal) => Promise<void>,
): (iteration: Iteration, signal: AbortSignal) => Promise<void> {
  let wasDrained = false;
  let isDue = false;
  return async (iteration, signal) => {
    const drained = isDrained(iteration);
    const begins = iteration.transition?.name === 'begin' && iteration.transition.from.kind === 'watching';
    isDue ||= begins || (drained && !wasDrained);
    wasDrained = drained;
    if (!isDue) return;
    await locate(signal);
    isDue = false;
  };
}
