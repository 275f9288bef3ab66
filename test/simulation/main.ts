/** Plays simulated histories: `npm run simulation -- --seeds 1000`, or one with its trace: `npm run simulation -- --seed 7`. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { playHistory, type SimulatedOutcome } from './play.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
  },
});

function show({ history, violations, trace }: SimulatedOutcome, withTrace: boolean): void {
  if (withTrace) for (const line of trace) console.log(line);
  for (const violation of violations) {
    console.log(`seed ${history.seed}: ${signatureOf(violation)}\n    ${violation.detail.slice(0, 2_000)}`);
  }
}

const begun = performance.now();
const single = values.seed;
const from = Number(single ?? values.from);
const count = single === undefined ? Number(values.seeds) : 1;
let bad = 0;
let writes = 0;
for (let seed = from; seed < from + count; seed += 1) {
  const outcome = await playHistory(seed);
  writes += outcome.writes;
  if (outcome.violations.length > 0) bad += 1;
  show(outcome, single !== undefined);
}
const seconds = (performance.now() - begun) / 1_000;
const rate = ((count / seconds) * 60).toFixed(0);
console.log(`${count} histories, ${bad} with violations, ${writes} writes, ${seconds.toFixed(1)} s, ${rate} a minute`);
process.exitCode = bad === 0 ? 0 : 1;
