import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import type { Terminal } from './terminal.ts';

/** Asks the person at the terminal; only the whole word "yes" is one. */
export async function isConfirmed({ stop }: Pick<Terminal, 'stop'>): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await lines.question('Write "yes" to go on: ', { signal: stop });
    return answer.trim() === 'yes';
  } catch {
    return false;
  } finally {
    lines.close();
  }
}
