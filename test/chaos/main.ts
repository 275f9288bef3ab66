/** `npm run chaos -- [--seed N | --seeds N] …`: plays random histories against the controller; test/chaos/README.md. */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { startChaosCluster } from './cluster.ts';
import { describeStep, generateHistory, type History } from './history.ts';
import { signatureOf } from './invariants/violation.ts';
import { type Outcome, runHistory } from './run.ts';
import { STEP_KINDS } from './steps/kinds.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '180' },
    parallel: { type: 'string', default: '4' },
    history: { type: 'string' },
    confirm: { type: 'string', default: '0' },
  },
});

type Play = (history: History) => Promise<Outcome>;

async function historiesOf(): Promise<readonly History[]> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  return values.history === undefined
    ? Array.from({ length: count }, (_, index) => generateHistory(first + index, Number(values.steps), STEP_KINDS))
    : [JSON.parse(await readFile(values.history, 'utf8')) as History | readonly History[]].flat();
}

function report({ history, performed, violations, seconds, disturbances }: Outcome): void {
  const verdict = violations.length === 0 ? 'ok' : 'FAILED';
  console.log(
    `seed ${history.seed}${history.name === undefined ? '' : ` (${history.name})`}: ${verdict} in ${seconds.toFixed(1)} s, ${history.steps.length} steps`,
  );
  if (violations.length === 0) return;
  for (const violation of violations) {
    console.log(`  ${signatureOf(violation)}\n      ${violation.detail.slice(0, 600)}`);
  }
  for (const { at, step, outcome } of performed) {
    console.log(`    ${at.toFixed(1).padStart(5)} s  ${describeStep(step)} → ${outcome}`);
  }
  if (disturbances.length > 0) console.log('  disturbances of all histories meanwhile:');
  for (const disturbance of disturbances) console.log(`    ${disturbance}`);
}

/** Plays the histories; those that time has no room for are named, and make the run fail. */
async function runAll(play: Play, histories: readonly History[], until: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...histories];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (performance.now() > until) {
        console.log(`seed ${next.seed}: NOT RUN, time is over`);
        process.exitCode = 1;
        continue;
      }
      const outcome = await play(next);
      outcomes.push(outcome);
      report(outcome);
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
  return outcomes;
}

/**
 * Whether the history fails again in at most `times` plays more, alone. One that does not may have needed what the others did
 * beside it; it is named, and a person has to play it.
 */
async function failsAgain(play: Play, { history }: Outcome, times: number): Promise<boolean> {
  for (let count = 0; count < times; count += 1) if ((await play(history)).violations.length > 0) return true;
  if (times > 0) console.log(`seed ${history.seed}: FAILED ONCE, and not in ${times} more plays`);
  return times === 0;
}

async function main(): Promise<void> {
  const until = performance.now() + Number(values.seconds) * 1000;
  await using cluster = await startChaosCluster();
  const play: Play = (history) => runHistory(cluster, history);
  const outcomes = await runAll(play, await historiesOf(), until);
  const failed = outcomes.filter(({ violations }) => violations.length > 0);
  console.log(`${outcomes.length} histories, ${failed.length} failed`);
  for (const outcome of failed) if (await failsAgain(play, outcome, Number(values.confirm))) process.exitCode = 1;
}

await main();
