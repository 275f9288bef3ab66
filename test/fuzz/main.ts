/** `npm run fuzz -- SECONDS [TARGET…] [--seed N]`: tries every parser of outside data; docs/internals/fuzzing.md. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { inputOf } from './inputs.ts';
import { minimalInput } from './minimal.ts';
import { type Find, fuzzTarget, kindOf } from './supervise.ts';
import type { FuzzInput, FuzzTarget } from './target.ts';
import { TARGETS } from './targets.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string' } } });
const [secondsText = '', ...names] = positionals;
const seconds = Number(secondsText);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));

/** A target has at least so long; where there are more targets than time, the seed says which are tried. */
const LEAST_SEC = 1;
/** How often a find is tried to be made smaller. */
const TRIES = 2_000;

function row(cells: readonly (string | number)[]): string {
  const widths = [24, 10, 10, 6, 11];
  return cells
    .map((cell, index) => String(cell).padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd();
}

/** All of them, or as many as there is time for: those of another seed are others. */
function chosenTargets(): readonly FuzzTarget[] {
  if (names.length > 0) return TARGETS.filter(({ name }) => names.includes(name));
  const first = seed % TARGETS.length;
  return [...TARGETS.slice(first), ...TARGETS.slice(0, first)];
}

/** The find with less around it. One that hangs, or ended its thread, stays as it is. */
async function minimal(target: FuzzTarget, { number, why }: Find): Promise<FuzzInput> {
  const input = inputOf(target, seed, number);
  const folder = await createQuickFolder('fuzz');
  const trial = await target.open(folder);
  const fails = async (candidate: FuzzInput): Promise<boolean> => {
    try {
      await trial.run(candidate);
      return false;
    } catch (error) {
      return error instanceof Error && kindOf(error.stack ?? error.message) === kindOf(why);
    }
  };
  try {
    return why.includes(' hangs') || !(await fails(input)) ? input : await minimalInput(input, fails, TRIES);
  } finally {
    await trial.close?.();
    await rm(folder, { recursive: true });
  }
}

/** Keeps the find in the corpus, and says how to see it again. */
async function keep(target: FuzzTarget, find: Find): Promise<void> {
  const { number, why } = find;
  const input = await minimal(target, find);
  const text = `${JSON.stringify({ input, why: why.split('\n')[0], seed, number }, null, 1)}\n`;
  const folder = new URL(`./corpus/${target.name}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  const name = `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`;
  writeFileSync(new URL(name, folder), text);
  const shown = JSON.stringify(input);
  console.log(`  input ${number}, kept as test/fuzz/corpus/${target.name}/${name}:`);
  console.log(`  ${why.split('\n').slice(0, 6).join('\n  ')}`);
  console.log(`  the minimal input: ${shown.slice(0, 2_000)}${shown.length > 2_000 ? ` … (${shown.length})` : ''}`);
  console.log(`  the same inputs again: npm run fuzz -- 60 ${target.name} --seed ${seed}`);
}

async function fuzz(): Promise<void> {
  const began = performance.now();
  const leftSec = (): number => seconds - (performance.now() - began) / 1000;
  const waiting = [...chosenTargets()];
  let [total, tried, startSec] = [0, 0, 0];
  console.log(row(['target', 'inputs', 'inputs/s', 'finds', 'seed']));
  for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
    if (tried > 0 && leftSec() < LEAST_SEC + startSec) {
      waiting.unshift(target);
      break;
    }
    const begun = leftSec();
    // A thread needs a time to begin, in which nothing is tried.
    const shareSec = Math.max(LEAST_SEC, begun / (waiting.length + 1) - startSec);
    const report = await fuzzTarget(target, seed, shareSec);
    startSec = Math.max(0, begun - leftSec() - report.seconds);
    [total, tried] = [total + report.inputs, tried + 1];
    console.log(
      row([target.name, report.inputs, Math.round(report.inputs / report.seconds), report.finds.length, seed]),
    );
    for (const find of report.finds) await keep(target, find);
    if (report.finds.length > 0) process.exitCode = 1;
  }
  console.log(row([`all ${tried} targets`, total]));
  if (waiting.length > 0) {
    console.log(`not tried, for want of time: ${waiting.map(({ name }) => name).join(', ')}`);
  }
}

if (!(seconds > 0) || !Number.isSafeInteger(seed) || unknown.length > 0) {
  const all = TARGETS.map(({ name }) => name).join(', ');
  console.error(
    `usage: npm run fuzz -- SECONDS [TARGET...] [--seed N]\nunknown: ${unknown.join(', ') || 'none'}; targets: ${all}`,
  );
  process.exitCode = 2;
} else {
  await fuzz();
}
