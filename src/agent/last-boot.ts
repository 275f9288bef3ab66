/**
 * Tells, after the fact, that the machine went down without asking anybody: `reboot -ff`, a crash, the power. Nothing could
 * be held then, but it should be known. A file in the state directory stays behind where nobody ended the agent.
 */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile, syncDirectory } from '../host/durable-file.ts';

function markPath(stateDirectory: string): string {
  return path.join(stateDirectory, 'running');
}

/**
 * Marks that an agent runs in this boot; returns whether one still did when an earlier boot ended. The directory is
 * there, for the record lies in it. Throws what the disk does.
 */
export async function markRunning(stateDirectory: string, bootId: string): Promise<boolean> {
  const found = (await readFile(markPath(stateDirectory), 'utf8').catch(() => '')).trim();
  if (found === bootId) return false;
  await replaceFile(markPath(stateDirectory), `${bootId}\n`, 0o600);
  return found !== '';
}

/** Takes the mark away: the agent was told to end. */
export async function unmarkRunning(stateDirectory: string): Promise<void> {
  await rm(markPath(stateDirectory), { force: true });
  await syncDirectory(stateDirectory);
}
