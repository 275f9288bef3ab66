/** `npm run interleavings -- [--world NAME] [--states N] [--minutes M]`; README.md says how to call it. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { CHECKOUT } from '../chaos/product.ts';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { type Counterexample, explore, type Explored } from './explore.ts';
import { findFaults } from './faults.ts';
import { loadProduct } from './product.ts';
import { WORLDS } from './worlds.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    world: { type: 'string', multiple: true },
    states: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '10' },
    first: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
});

function show({ finding, way, steps }: Counterexample): void {
  console.log(`  ${signatureOf(finding)}\n      ${finding.detail.slice(0, 1_000)}`);
  for (const line of way) console.log(`    ${line}`);
  console.log(`    as a history of the chaos test: ${JSON.stringify({ seed: 1, steps })}`);
}

function report(name: string, { states, moves, atRest, depth, complete, found }: Explored, seconds: number): void {
  const extent = complete ? 'all of it' : 'not all of it';
  console.log(
    `${name}: ${states} states (${extent}), ${moves} moves, ${depth} deep, ${atRest} at rest, ${found.length} violations, ${seconds.toFixed(1)} s`,
  );
  for (const each of found) show(each);
}

async function main(): Promise<boolean> {
  const most = { states: Number(values.states), ms: Number(values.minutes) * 60_000 };
  if (values.faults) return await findFaults(most, positionals);
  const product = await loadProduct(CHECKOUT);
  let isGood = true;
  for (const name of values.world ?? Object.keys(WORLDS)) {
    const small = WORLDS[name];
    if (small === undefined) throw new Error(`there is no world ${name}; there are: ${Object.keys(WORLDS).join(', ')}`);
    const begun = performance.now();
    const explored = await explore(product, small, { ...most, first: values.first });
    report(name, explored, (performance.now() - begun) / 1_000);
    isGood &&= explored.found.length === 0;
  }
  return isGood;
}

process.exitCode = (await main()) ? 0 : 1;
