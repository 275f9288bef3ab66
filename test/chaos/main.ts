/** `npm run chaos -- [--seed N | --seeds N] …`: plays random histories against the controller; test/chaos/README.md. */
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type ChaosCluster, startChaosCluster } from './cluster.ts';
import { runFaults } from './faults.ts';
import { describeStep, generateHistory, type History } from './history.ts';
import { INVARIANTS, type Invariant, signatureOf } from './invariants/violation.ts';
import { type Outcome, runHistory } from './run.ts';
import { type Play, shrinkHistory } from './shrink.ts';
import { STEP_KINDS } from './steps/kinds.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '180' },
    repeat: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '4' },
    invariants: { type: 'string', default: Object.keys(INVARIANTS).join(',') },
    without: { type: 'string', default: '' },
    history: { type: 'string' },
    faults: { type: 'boolean', default: false },
    confirm: { type: 'string' },
    shrink: { type: 'string' },
    'keep-logs': { type: 'string' },
  },
});

const invariants = new Set(values.invariants.split(',') as Invariant[]);
const steps = Number(values.steps);
const left = values.without.split(',');
const kinds = Object.fromEntries(Object.entries(STEP_KINDS).filter(([name]) => !left.includes(name)));

async function historiesOf(): Promise<readonly History[]> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const histories =
    values.history === undefined
      ? Array.from({ length: count }, (_, index) => generateHistory(first + index, steps, kinds))
      : [JSON.parse(await readFile(values.history, 'utf8')) as History | readonly History[]].flat();
  return Array.from({ length: Number(values.repeat) }, () => histories).flat();
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

/** Plays so many histories side by side at the most; the others wait. */
function createPlay(cluster: ChaosCluster, most: number): Play {
  const playing = new Set<Promise<unknown>>();
  return async (history, question) => {
    while (playing.size >= most) await Promise.race(playing);
    const running = runHistory(cluster, history, question);
    const ended = running.catch(() => undefined).finally(() => playing.delete(ended));
    playing.add(ended);
    return await running;
  };
}

/** Plays the histories; those that time has no room for are named. */
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
      const outcome = await play(next, { invariants });
      outcomes.push(outcome);
      report(outcome);
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
  return outcomes;
}

/**
 * The outcomes that failed and fail again: each history is played at most `times` times more, one after another. One that
 * does not fail again may have needed what the others did beside it; it is named, and a person has to play it.
 */
async function confirm(play: Play, failed: readonly Outcome[], times: number): Promise<readonly Outcome[]> {
  const confirmed: Outcome[] = [];
  for (const outcome of failed) {
    let again: Outcome | undefined;
    for (let count = 0; count < times && (again?.violations ?? []).length === 0; count += 1) {
      again = await play(outcome.history, { invariants });
    }
    if ((again?.violations ?? []).length > 0) confirmed.push(outcome);
    else console.log(`seed ${outcome.history.seed}: FAILED ONCE, and not in ${times} more plays`);
  }
  return confirmed;
}

/** The command that plays a history again. */
function commandOf({ seed }: History): string {
  const source = values.history === undefined ? `--seed ${seed}` : `--history ${values.history}`;
  const without = values.without === '' ? '' : ` --without '${values.without}'`;
  return `npm run chaos -- ${source} --steps ${steps}${without} --shrink 120`;
}

/** The violations, each with the outcomes of the histories that show it. */
function byViolation(outcomes: readonly Outcome[]): ReadonlyMap<string, readonly Outcome[]> {
  const found = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    for (const violation of outcome.violations) {
      const signature = signatureOf(violation);
      found.set(signature, [...(found.get(signature) ?? []), outcome]);
    }
  }
  return found;
}

/** Shrinks the shortest of the histories that show a violation. */
async function shrink(play: Play, signature: string, outcomes: readonly Outcome[]): Promise<void> {
  const [shortest] = outcomes.toSorted((a, b) => a.seconds - b.seconds);
  if (shortest === undefined) return;
  const { seed } = shortest.history;
  const goal = { invariants, signature, until: performance.now() + Number(values.shrink) * 1000 };
  const smallest = await shrinkHistory(play, shortest, goal);
  if (smallest === undefined) {
    console.log(`seed ${seed}: did not fail again: ${signature}`);
    return;
  }
  console.log(`seed ${seed}, shrunk to ${smallest.history.steps.length} steps for ${signature}`);
  console.log(`  ${JSON.stringify(smallest.history)}`);
  report(smallest);
}

async function keepLogs(cluster: ChaosCluster, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = (await readdir(cluster.controlPlane.logs)).filter((name) =>
    /^(?:controller|agent|kube-controller-manager)/.test(name),
  );
  for (const file of files) await copyFile(path.join(cluster.controlPlane.logs, file), path.join(folder, file));
}

async function main(): Promise<void> {
  const until = performance.now() + Number(values.seconds) * 1000;
  await using cluster = await startChaosCluster();
  const play = createPlay(cluster, Number(values.parallel));
  if (values.faults) {
    if (!(await runFaults(cluster, play, positionals))) process.exitCode = 1;
    return;
  }
  const outcomes = await runAll(play, await historiesOf(), until);
  const found = byViolation(outcomes);
  for (const [signature, failed] of found) {
    const seeds = failed.map(({ history }) => history.seed).join(', ');
    console.log(`${failed.length} × ${signature}: seeds ${seeds}`);
    const [first] = failed;
    if (first !== undefined) console.log(`    again: ${commandOf(first.history)}`);
  }
  const failed = outcomes.filter(({ violations }) => violations.length > 0);
  console.log(`${outcomes.length} histories, ${failed.length} failed`);
  const counted = values.confirm === undefined ? failed : await confirm(play, failed, Number(values.confirm));
  if (counted.length > 0) process.exitCode = 1;
  if (values['keep-logs'] !== undefined) await keepLogs(cluster, values['keep-logs']);
  if (values.shrink === undefined) return;
  await Promise.all([...found].map(([signature, failing]) => shrink(play, signature, failing)));
}

const unknown = [...invariants].filter((name) => !(name in INVARIANTS));
if (unknown.length > 0 || !Number.isSafeInteger(steps)) {
  console.error(`usage: npm run chaos -- [--seed N | --seeds N --from N] [--steps N] [--seconds N] [--parallel N] [--repeat N]
  [--faults [NAME...]]
  [--invariants ${Object.keys(INVARIANTS).join(',')}] [--without STEP,...] [--history FILE] [--confirm TIMES] [--shrink SECONDS] [--keep-logs FOLDER]`);
  process.exitCode = 2;
} else await main();
