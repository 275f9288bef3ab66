/**
 * Tells, after the fact, that the machine went down without asking anybody: `reboot -ff`, a crash, the power. Nothing could
 * be held then, but it should be known. A file in the state directory stays behind where nobody ended the agent.
 */
import type { StateFiles } from '../../host/files/state-files.ts';

const MARK = 'running';

/** Marks that an agent runs in this boot; returns whether one still did when an earlier boot ended. */
export async function markRunning(state: StateFiles, bootId: string): Promise<boolean> {
  const found = ((await state.read(MARK)) ?? '').trim();
  if (found === bootId) return false;
  await state.write(MARK, `${bootId}\n`);
  return found !== '';
}

/** Takes the mark away: the agent was told to end. */
export async function unmarkRunning(state: StateFiles): Promise<void> {
  await state.remove(MARK);
}
