/**
 * Makes what tests need, where the cache lacks it: `node test/needs/make.ts kubernetes helm`. Without names it makes all that
 * the suites on real parts need, and installs what they require of the machine.
 */
import process from 'node:process';
import { takeLock } from '../processes.ts';
import { setUp } from '../set-up.ts';
import { planOf, SUITES } from '../suites.ts';
import { IS_THOROUGH } from '../support/thorough.ts';
import { needsOf } from './imports.ts';
import { TABLE } from './table.ts';

const { signal } = new AbortController();

/** The needs of the suites on real parts. */
async function allNeeds(): Promise<readonly string[]> {
  const real = Object.entries(SUITES).filter(([, { apart }]) => apart === true);
  await setUp(
    real.flatMap(([, { requires }]) => requires),
    signal,
  );
  const files = real.flatMap(([name, suite]) => planOf(name, suite, IS_THOROUGH).groups.flat());
  const needs = new Set([...(await needsOf([...new Set(files)])).values()].flat());
  return TABLE.map(({ need }) => need).filter((need) => needs.has(need));
}

const names = process.argv.slice(2);
for (const wanted of names.length > 0 ? names : await allNeeds()) {
  const row = TABLE.find(({ need }) => need === wanted);
  if (row === undefined)
    throw new Error(`there is no need ${wanted}; there are ${TABLE.map(({ need }) => need).join(', ')}`);
  // A second process finds what the first one made.
  using _lock = await takeLock(`need-${row.need}`);
  await row.make(signal);
}
