import type { Turn } from '../turn/step.ts';

/**
 * Looks for the static pod directory again when a drain of this node begins: the kubelet may have been restarted with
 * another directory since. A look that fails is repeated in the next turn.
 */
export function createRelocation(
  isDrained: (turn: Turn) => boolean,
  locate: (signal: AbortSignal) => Promise<void>,
): (turn: Turn, signal: AbortSignal) => Promise<void> {
  let wasDrained = false;
  let isDue = false;
  return async (turn, signal) => {
    const drained = isDrained(turn);
    const begins = turn.transition?.name === 'begin' && turn.transition.from.kind === 'watching';
    isDue ||= begins || (drained && !wasDrained);
    wasDrained = drained;
    if (!isDue) return;
    await locate(signal);
    isDue = false;
  };
}
