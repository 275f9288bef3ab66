/** `npm run chaos -- [--seed N | --seeds N] …`: plays random histories against the controller; test/chaos/README.md. */
import { readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type ChaosCluster, startChaosCluster } from './cluster.ts';
import { generateHistory, type History } from './history.ts';
import { INVARIANTS, type Invariant, signatureOf } from './invariants/violation.ts';
import { type Outcome, runHistory } from './run.ts';
import { shrinkHistory } from './shrink.ts';
import { STEP_KINDS } from './steps/kinds.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '180' },
    repeat: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '5' },
    invariants: { type: 'string', default: Object.keys(INVARIANTS).join(',') },
    history: { type: 'string' },
    shrink: { type: 'string' },
    'keep-logs': { type: 'string' },
  },
});

const invariants = new Set(values.invariants.split(',') as Invariant[]);
const steps = Number(values.steps);

async function historiesOf(): Promise<readonly History[]> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const histories =
    values.history === undefined
      ? Array.from({ length: count }, (_, index) => generateHistory(first + index, steps, STEP_KINDS))
      : [JSON.parse(await readFile(values.history, 'utf8')) as History];
  return Array.from({ length: Number(values.repeat) }, () => histories).flat();
}

function report({ history, lines, violations, seconds }: Outcome): void {
  const verdict = violations.length === 0 ? 'ok' : 'FAILED';
  console.log(`seed ${history.seed}: ${verdict} in ${seconds.toFixed(1)} s, ${history.steps.length} steps`);
  if (violations.length === 0) return;
  for (const violation of violations) {
    console.log(`  ${signatureOf(violation)}\n      ${violation.detail.slice(0, 600)}`);
  }
  for (const line of lines) console.log(`    ${line}`);
}

/** Plays the histories side by side; those that time has no room for are named. */
async function runAll(
  cluster: ChaosCluster,
  histories: readonly History[],
  until: number,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...histories];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (performance.now() > until) {
        console.log(`seed ${next.seed}: NOT RUN, time is over`);
        process.exitCode = 1;
        continue;
      }
      const outcome = await runHistory(cluster, next, invariants);
      outcomes.push(outcome);
      report(outcome);
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
  return outcomes;
}

/** Shrinks a failing history for each of its violations. */
async function shrinkAll(cluster: ChaosCluster, outcome: Outcome, seconds: number): Promise<void> {
  for (const violation of outcome.violations) {
    const signature = signatureOf(violation);
    const goal = { invariants, signature, until: performance.now() + seconds * 1000 };
    const smallest = await shrinkHistory(cluster, outcome.history, goal);
    if (smallest === undefined) console.log(`seed ${outcome.history.seed}: did not fail again: ${signature}`);
    else {
      console.log(`seed ${outcome.history.seed}, shrunk to ${smallest.history.steps.length} steps for ${signature}`);
      console.log(`  ${JSON.stringify(smallest.history)}`);
      report(smallest);
    }
  }
}

async function main(): Promise<void> {
  const until = performance.now() + Number(values.seconds) * 1000;
  await using cluster = await startChaosCluster();
  const outcomes = await runAll(cluster, await historiesOf(), until);
  const failed = outcomes.filter(({ violations }) => violations.length > 0);
  const signatures = new Map<string, number[]>();
  for (const { history, violations } of failed) {
    for (const violation of violations) {
      const signature = signatureOf(violation);
      signatures.set(signature, [...(signatures.get(signature) ?? []), history.seed]);
    }
  }
  for (const [signature, seeds] of signatures) console.log(`${seeds.length} × ${signature}: seeds ${seeds.join(', ')}`);
  if (values.shrink !== undefined) {
    for (const outcome of failed) await shrinkAll(cluster, outcome, Number(values.shrink));
  }
  if (values['keep-logs'] !== undefined) {
    for (const [index] of Array.from({ length: 50 }).entries()) {
      const text = await readFile(`${cluster.controlPlane.logs}/controller-${index}.log`, 'utf8').catch(
        () => undefined,
      );
      if (text !== undefined) await writeFile(`${values['keep-logs']}/controller-${index}.log`, text);
    }
  }
  console.log(`${outcomes.length} histories, ${failed.length} failed`);
  if (failed.length > 0) process.exitCode = 1;
}

const unknown = [...invariants].filter((name) => !(name in INVARIANTS));
if (unknown.length > 0 || !Number.isSafeInteger(steps)) {
  console.error(`usage: npm run chaos -- [--seed N | --seeds N --from N] [--steps N] [--seconds N] [--parallel N] [--repeat N]
  [--invariants ${Object.keys(INVARIANTS).join(',')}] [--history FILE] [--shrink SECONDS] [--keep-logs FOLDER]`);
  process.exitCode = 2;
} else await main();
