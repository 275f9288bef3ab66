/** Plays simulated histories; README.md says how to call it. */
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { findFaults } from './faults.ts';
import { playFleet } from './fleet/play.ts';
import { playHistory } from './play.ts';
import type { AnyFinding, HistoryExchange, WorldName } from './thread.ts';
import { playInThreads, threadCount } from './threads.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string' },
    seeds: { type: 'string' },
    seconds: { type: 'string' },
    threads: { type: 'string' },
    agents: { type: 'string', default: '50' },
    world: { type: 'string' },
    first: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
});
/** A history that takes longer does not end: most take less than a second. */
const LIMIT_MS = 120_000;
const THREAD = path.join(import.meta.dirname, 'thread.ts');

/** One history in so many has an agent: its time passes ten times as slowly. */
const hasAgent = (seed: number): boolean => seed % Number(values.agents) === 0;

/** The worlds in which each seed is played. */
const WORLDS = (['cluster', 'fleet'] as const).filter((world) =>
  [undefined, world].includes(values.world as WorldName),
);

function show(seed: number, world: WorldName, violations: readonly AnyFinding[]): void {
  for (const violation of violations) {
    const at = `at ${(performance.now() / 1_000).toFixed(0)} s`;
    console.log(`${world} ${seed}: ${signatureOf(violation)} (${at})\n    ${violation.detail.slice(0, 2_000)}`);
  }
}

/** Plays one seed and prints everything that happened; returns whether nothing was found. */
async function playOne(seed: number): Promise<boolean> {
  let isGood = true;
  for (const world of WORLDS) {
    const isFleet = world === 'fleet';
    const played = isFleet ? await playFleet(seed) : await playHistory(seed, { hasAgent: hasAgent(seed) });
    for (const line of played.trace) console.log(line);
    show(seed, world, played.violations);
    isGood &&= played.violations.length === 0;
  }
  return isGood;
}

/** Plays seeds until they are through, the time is over, or, with --first, something is found; returns whether nothing was. */
async function playSeeds(from: number, count: number, limitMs: number): Promise<boolean> {
  const begun = performance.now();
  let [played, bad, writes] = [0, 0, 0];
  function* seeds(): Generator<HistoryExchange['input']> {
    for (let seed = from; seed < from + count; seed += 1) {
      if (performance.now() - begun >= limitMs || (bad > 0 && values.first)) return;
      for (const world of WORLDS) yield { seed, world, hasAgent: hasAgent(seed) };
    }
  }
  const threads = Math.min(threadCount(values.threads), count);
  const take = (outcome: HistoryExchange['output']): void => {
    played += 1;
    writes += outcome.writes;
    if (outcome.violations.length > 0) bad += 1;
    show(outcome.input.seed, outcome.input.world, outcome.violations);
  };
  await playInThreads<HistoryExchange>(THREAD, seeds(), threads, take, LIMIT_MS, (input) => {
    const detail = `it was ended after ${LIMIT_MS / 1_000} s`;
    return { input, violations: [{ invariant: 'stable', what: 'a history does not end', detail }], writes: 0 };
  });
  const seconds = (performance.now() - begun) / 1_000;
  const rate = ((played / seconds) * 60).toFixed(0);
  const range = `seeds ${from} to ${from + Math.ceil(played / WORLDS.length) - 1} of ${WORLDS.join(' and ')}`;
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
