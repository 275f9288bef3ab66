/** Plays simulated histories; README.md says how to call it. */
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { findFaults } from './faults.ts';
import type { Finding } from './judge.ts';
import { playHistory } from './play.ts';
import type { HistoryExchange } from './thread.ts';
import { playInThreads, threadCount } from './threads.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string' },
    seeds: { type: 'string' },
    seconds: { type: 'string' },
    threads: { type: 'string' },
    agents: { type: 'string', default: '50' },
    first: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
});
const THREAD = path.join(import.meta.dirname, 'thread.ts');

/** One history in so many has an agent: its time passes ten times as slowly. */
const hasAgent = (seed: number): boolean => seed % Number(values.agents) === 0;

function show(seed: number, violations: readonly Finding[]): void {
  for (const violation of violations) {
    console.log(`seed ${seed}: ${signatureOf(violation)}\n    ${violation.detail.slice(0, 2_000)}`);
  }
}

/** Plays one seed and prints everything that happened; returns whether nothing was found. */
async function playOne(seed: number): Promise<boolean> {
  const { trace, violations } = await playHistory(seed, { hasAgent: hasAgent(seed) });
  for (const line of trace) console.log(line);
  show(seed, violations);
  return violations.length === 0;
}

/** Plays seeds until they are through, the time is over, or, with --first, something is found; returns whether nothing was. */
async function playSeeds(from: number, count: number, limitMs: number): Promise<boolean> {
  const begun = performance.now();
  let [played, bad, writes] = [0, 0, 0];
  function* seeds(): Generator<HistoryExchange['input']> {
    for (let seed = from; seed < from + count; seed += 1) {
      if (performance.now() - begun >= limitMs || (bad > 0 && values.first)) return;
      yield { seed, hasAgent: hasAgent(seed) };
    }
  }
  const threads = Math.min(threadCount(values.threads), count);
  await playInThreads<HistoryExchange>(THREAD, seeds(), threads, (outcome) => {
    played += 1;
    writes += outcome.writes;
    if (outcome.violations.length > 0) bad += 1;
    show(outcome.seed, outcome.violations);
  });
  const seconds = (performance.now() - begun) / 1_000;
  const rate = ((played / seconds) * 60).toFixed(0);
  const range = `seeds ${from} to ${from + played - 1}`;
  console.log(
    `${range}: ${bad} of ${played} with violations, ${writes} writes, ${seconds.toFixed(1)} s, ${rate} a minute`,
  );
  return bad === 0;
}

async function main(): Promise<boolean> {
  if (values.faults) return await findFaults(Number(values.seeds ?? 100));
  if (values.seed !== undefined) return await playOne(Number(values.seed));
  // With a time alone, other seeds each time.
  const isOpen = values.seconds !== undefined && values.seeds === undefined;
  const from = values.from ?? (isOpen ? Math.floor(Math.random() * 1e9) : 1);
  const count = isOpen ? Infinity : Number(values.seeds ?? 100);
  return await playSeeds(Number(from), count, Number(values.seconds ?? Infinity) * 1_000);
}

process.exitCode = (await main()) ? 0 : 1;
