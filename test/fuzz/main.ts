/** `npm run fuzz -- SECONDS [TARGET…] [--seed N]`: tries every parser of outside data; docs/internals/fuzzing.md. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { inputOf } from './inputs.ts';
import { fuzzTarget } from './supervise.ts';
import { TARGETS } from './targets.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string' } } });
const [secondsText = '', ...names] = positionals;
const seconds = Number(secondsText);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const chosen = names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name));
const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));

function row(cells: readonly (string | number)[]): string {
  const widths = [24, 10, 10, 6, 11];
  return cells
    .map((cell, index) => String(cell).padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd();
}

if (!(seconds > 0) || !Number.isSafeInteger(seed) || unknown.length > 0) {
  const all = TARGETS.map(({ name }) => name).join(', ');
  console.error(
    `usage: npm run fuzz -- SECONDS [TARGET...] [--seed N]\nunknown: ${unknown.join(', ') || 'none'}; targets: ${all}`,
  );
  process.exitCode = 2;
} else {
  console.log(row(['target', 'inputs', 'inputs/s', 'finds', 'seed']));
  let total = 0;
  for (const target of chosen) {
    const report = await fuzzTarget(target, seed, seconds / chosen.length);
    total += report.inputs;
    console.log(
      row([target.name, report.inputs, Math.round(report.inputs / report.seconds), report.finds.length, seed]),
    );
    for (const { number, why } of report.finds) {
      const input = inputOf(target, seed, number);
      const text = `${JSON.stringify({ input, why: why.split('\n')[0], seed, number }, null, 1)}\n`;
      const folder = new URL(`./corpus/${target.name}/`, import.meta.url);
      mkdirSync(folder, { recursive: true });
      const name = `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`;
      writeFileSync(new URL(name, folder), text);
      console.log(
        `  input ${number}, kept as test/fuzz/corpus/${target.name}/${name}:\n  ${why.split('\n').slice(0, 6).join('\n  ')}`,
      );
      process.exitCode = 1;
    }
  }
  console.log(row(['all', total]));
}
