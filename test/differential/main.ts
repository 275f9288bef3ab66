/** Plays sequences of changes; README.md says how to call it. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { CHECKOUT } from '../chaos/product.ts';
import { findFaults } from './faults.ts';
import { SUBJECTS } from './subjects.ts';
import { Tally } from './tally.ts';

const { values } = parseArgs({
  options: {
    of: { type: 'string' },
    sequences: { type: 'string', default: '20' },
    seed: { type: 'string' },
    faults: { type: 'boolean', default: false },
  },
});
const LONGEST = 2_000;

async function main(): Promise<boolean> {
  const known = Object.keys(SUBJECTS);
  if (values.of !== undefined && !known.includes(values.of)) throw new Error(`--of takes one of ${known.join(', ')}`);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6));
  if (values.faults) return await findFaults(values.of, seed);
  let finds = 0;
  for (const subject of values.of === undefined ? known : [values.of]) {
    const tally = new Tally();
    await SUBJECTS[subject]?.(CHECKOUT, { sequences: Number(values.sequences), seed }, tally);
    for (const { oracle, sequence, what } of tally.finds) {
      console.log(`${subject}, sequence ${sequence}, ${oracle}: ${what.slice(0, LONGEST)}`);
    }
    console.log(`${subject}, seed ${seed}: ${tally.line()}`);
    finds += tally.finds.length;
  }
  return finds === 0;
}

process.exitCode = (await main()) ? 0 : 1;
