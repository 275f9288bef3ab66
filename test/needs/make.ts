/** Makes what tests need, where the cache lacks it: `node test/needs/make.ts kubernetes helm`. */
import process from 'node:process';
import { TABLE } from './table.ts';

const { signal } = new AbortController();
for (const wanted of process.argv.slice(2)) {
  const row = TABLE.find(({ need }) => need === wanted);
  if (row === undefined)
    throw new Error(`there is no need ${wanted}; there are ${TABLE.map(({ need }) => need).join(', ')}`);
  await row.make(signal);
}
