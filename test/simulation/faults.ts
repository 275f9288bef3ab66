/** Which of the deliberate faults of the chaos test simulated histories find, and after how many. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { copyWithFault, readFaults } from '../chaos/faults.ts';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { playHistory } from './play.ts';
import { loadController } from './replicas.ts';

/** The first of so many seeds that finds something of the product at `root`, and what; undefined where none does. */
async function firstFind(root: string, seeds: number): Promise<string | undefined> {
  const controller = await loadController(root);
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { violations } = await playHistory(seed, { controller });
    if (violations.length > 0) return `seed ${seed}: ${violations.map(signatureOf).join('; ')}`;
  }
  return undefined;
}

/** Plays seeds against a copy with each fault until one finds something; returns whether each was found. */
export async function findFaults(seeds: number): Promise<boolean> {
  let isComplete = true;
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-simulated-faults-'));
  try {
    for (const [name, fault] of await readFaults()) {
      const begun = performance.now();
      const found = await firstFind(await copyWithFault(folder, fault), seeds);
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      console.log(`${name} (${fault.invariant}): ${found ?? `NOT FOUND by ${seeds} seeds`}, ${seconds} s`);
      isComplete &&= found !== undefined;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return isComplete;
}
