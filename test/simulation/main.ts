/** Plays simulated histories; README.md says how to call it. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { findFaults } from './faults.ts';
import { playHistory, type SimulatedOutcome } from './play.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string' },
    seeds: { type: 'string', default: '100' },
    seconds: { type: 'string' },
    first: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
});

function show({ history, violations, trace }: SimulatedOutcome, withTrace: boolean): void {
  if (withTrace) for (const line of trace) console.log(line);
  for (const violation of violations) {
    console.log(`seed ${history.seed}: ${signatureOf(violation)}\n    ${violation.detail.slice(0, 2_000)}`);
  }
}

/** Plays seeds until they are through, the time is over, or, with --first, something is found; returns whether nothing was. */
async function playSeeds(from: number, count: number, limitMs: number, withTrace: boolean): Promise<boolean> {
  const begun = performance.now();
  let [played, bad, writes] = [0, 0, 0];
  while (played < count && performance.now() - begun < limitMs && (bad === 0 || !values.first)) {
    const outcome = await playHistory(from + played);
    played += 1;
    writes += outcome.writes;
    if (outcome.violations.length > 0) bad += 1;
    show(outcome, withTrace);
  }
  const seconds = (performance.now() - begun) / 1_000;
  const rate = ((played / seconds) * 60).toFixed(0);
  const range = `seeds ${from} to ${from + played - 1}`;
  console.log(
    `${range}: ${bad} of ${played} with violations, ${writes} writes, ${seconds.toFixed(1)} s, ${rate} a minute`,
  );
  return bad === 0;
}

async function main(): Promise<boolean> {
  if (values.faults) return await findFaults(Number(values.seeds));
  if (values.seed !== undefined) return await playSeeds(Number(values.seed), 1, Infinity, true);
  // With a time, other seeds each time.
  const from = values.from ?? (values.seconds === undefined ? 1 : Math.floor(Math.random() * 1e9));
  const count = values.seconds === undefined ? Number(values.seeds) : Infinity;
  return await playSeeds(Number(from), count, Number(values.seconds ?? Infinity) * 1_000, false);
}

process.exitCode = (await main()) ? 0 : 1;
