/**
 * `npm run bench -- scale`: drains of very many nodes on a real control plane whose nodes are kwok's. Figures are ratios in
 * one run, and growth with the number of nodes; nothing is asserted. docs/internals/development.md explains the cases.
 */
import type { Bench, Case } from './case.ts';
import { MANY, ONE } from './cases/compare.ts';
import { growthOf, tableOf, type Finding } from './table.ts';

/** By the names that choose among them on the command line. */
const CASES: Readonly<Record<string, Case>> = { one: ONE, many: MANY };

/** What a word of the command line asks for: a case at its quick size, at given sizes, or every case at its full sizes. */
function runsOf(
  word: string,
): readonly { readonly name: string; readonly found: Case; readonly counts: readonly number[] }[] {
  if (word === 'scale') return Object.entries(CASES).map(([name, found]) => ({ name, found, counts: found.full }));
  const [name = '', sizes] = word.replace(/^scale=/, '').split('@');
  const found = CASES[name];
  const counts = sizes === undefined ? [found?.quick ?? 0] : sizes.split(',').map(Number);
  if (found === undefined || !counts.every((count) => Number.isSafeInteger(count) && count > 0)) {
    const cases = Object.entries(CASES).map(([each, { what }]) => `  scale=${each}: ${what}`);
    throw new Error(`no case ${word}; write scale, scale=CASE or scale=CASE@NODES,NODES:\n${cases.join('\n')}`);
  }
  return [{ name, found, counts }];
}

/** Whether the word of the command line is for this bench. */
export function isScale(word: string): boolean {
  return word === 'scale' || word.startsWith('scale=');
}

/** Runs what the word asks for and prints each table as soon as it is there. */
export async function benchScale(word: string, bench: Bench): Promise<void> {
  for (const { name, found, counts } of runsOf(word)) {
    const findings: Finding[] = [];
    for (const count of counts) {
      const began = performance.now();
      findings.push(await found.run(bench, count));
      const seconds = ((performance.now() - began) / 1_000).toFixed(0);
      console.log(`\nscale=${name}@${count} (${seconds} s)\n${tableOf(findings.at(-1) as Finding)}`);
    }
    const growth = growthOf(findings);
    if (growth !== '') console.log(`\nscale=${name}: ${growth}`);
  }
}
