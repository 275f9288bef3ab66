/** `npm run perturb -- [--scenario NAME,…] [--sample N] …`: plays plans, in each of which one thing goes wrong; README.md. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createRandom } from '../chaos/random.ts';
import { type PerturbationCluster, startPerturbationCluster } from './cluster.ts';
import { type Plan, planText, plansOf, readPlan } from './plan.ts';
import { type Outcome, runPlan, type Task } from './run.ts';
import { loadScenarios, type Scenario } from './scenarios.ts';

const ALL = Object.entries(await loadScenarios());
const SCENARIOS = Object.fromEntries(ALL.filter(([, { isSimulatedOnly }]) => isSimulatedOnly !== true));
const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    plan: { type: 'string', multiple: true, default: [] },
    fixed: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string', default: String(Math.trunc(Math.random() * 1_000_000)) },
    seconds: { type: 'string', default: '86400' },
    parallel: { type: 'string', default: '10' },
    still: { type: 'string', default: '2' },
    confirm: { type: 'string', default: '0' },
  },
});
const stillMs = Number(values.still) * 1000;
const until = performance.now() + Number(values.seconds) * 1000;
/** Plans that failed when they were written. */
const FIXED = path.join(import.meta.dirname, 'plans.json');
const LOG_LINES = 25;
const SLOWEST = 5;

function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}; there are ${Object.keys(SCENARIOS).join(', ')}`);
  return scenario;
}

function taskOf(plan: Plan): Task {
  return { name: plan.scenario, scenario: scenarioOf(plan.scenario), plan };
}

function report({ name, plan, finds, log, seconds }: Outcome): void {
  if (finds.length === 0) return;
  console.log(`FOUND in ${seconds.toFixed(1)} s: ${plan === undefined ? name : planText(plan)}`);
  for (const { what, detail } of finds) console.log(`    ${what}\n        ${detail.slice(0, 800)}`);
  for (const line of log.slice(-LOG_LINES)) console.log(`      ${line.slice(0, 240)}`);
}

/** Plays the tasks, some at a time; those that time has no room for are left out. */
async function playAll(cluster: PerturbationCluster, tasks: readonly Task[]): Promise<readonly Outcome[]> {
  const waiting = [...tasks];
  const outcomes: Outcome[] = [];
  const lane = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      if (performance.now() > until) {
        waiting.unshift(task);
        return;
      }
      const outcome = await runPlan(cluster, task, stillMs);
      report(outcome);
      outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
  if (waiting.length > 0) console.log(`${waiting.length} plans NOT PLAYED: time is over`);
  return outcomes;
}

/** So many of each scenario, as the seed determines; all of them where no number is told. */
function chosen(plans: readonly Plan[]): readonly Plan[] {
  if (values.sample === undefined) return plans;
  const random = createRandom(Number(values.seed));
  const left = [...plans];
  const count = Math.min(Number(values.sample), left.length);
  return Array.from({ length: count }, () => left.splice(random.whole(left.length), 1)).flat();
}

/** The plans that are asked for by name, or else all of the moments of these recordings. */
async function plansToPlay(recordings: readonly Outcome[]): Promise<readonly Plan[]> {
  const fixed = values.fixed ? (JSON.parse(await readFile(FIXED, 'utf8')) as readonly string[]) : [];
  const drawn = recordings.flatMap(({ name, moments }) => chosen(plansOf(name, moments)));
  return [...[...fixed, ...values.plan].map(readPlan), ...drawn];
}

const HEADERS = ['plans', 'reached', 'with finds', 'median s', 'longest s'] as const;

function table(outcomes: readonly Outcome[], seconds: number): void {
  console.log(['scenario'.padEnd(14), ...HEADERS].join('  '));
  for (const scenario of Object.keys(SCENARIOS)) {
    const own = outcomes.filter(({ name }) => name === scenario);
    if (own.length === 0) continue;
    const times = own.map((outcome) => outcome.seconds).toSorted((a, b) => a - b);
    const [median = 0, longest = 0] = [times[Math.trunc(times.length / 2)], times.at(-1)];
    const reached = own.filter((outcome) => outcome.reached).length;
    const found = own.filter(({ finds }) => finds.length > 0).length;
    const cells = [own.length, reached, found, median.toFixed(1), longest.toFixed(1)];
    const padded = cells.map((cell, index) => String(cell).padStart(HEADERS[index]?.length ?? 0));
    console.log([scenario.padEnd(14), ...padded].join('  '));
  }
  for (const { plan, seconds: took } of outcomes.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)) {
    if (plan !== undefined) console.log(`${took.toFixed(1)} s: ${planText(plan)}`);
  }
  console.log(`${outcomes.length} plans in ${seconds.toFixed(0)} s, ${values.parallel} at a time`);
}

/** The outcomes with finds that have some again when the plan is played alone, up to so many times. */
async function confirmed(cluster: PerturbationCluster, found: readonly Outcome[]): Promise<readonly Outcome[]> {
  const times = Number(values.confirm);
  if (times === 0) return found;
  const again: Outcome[] = [];
  for (const outcome of found) {
    const { plan } = outcome;
    if (plan === undefined) continue;
    let repeated: Outcome | undefined;
    for (let count = 0; count < times && (repeated?.finds ?? []).length === 0; count += 1) {
      repeated = await runPlan(cluster, taskOf(plan), stillMs);
    }
    if ((repeated?.finds ?? []).length > 0) again.push(outcome);
    else console.log(`FOUND ONCE, and not in ${times} more plays: ${planText(plan)}`);
  }
  return again;
}

async function main(): Promise<void> {
  const names = values.scenario === '' ? [] : values.scenario.split(',');
  if (values.sample !== undefined) console.log(`seed ${values.seed}`);
  await using cluster = await startPerturbationCluster();
  const begun = performance.now();
  const recorded = values.plan.length > 0 ? [] : names;
  const recordings = await playAll(
    cluster,
    recorded.map((name) => ({ name, scenario: scenarioOf(name) })),
  );
  for (const { name, moments, seconds, finds } of recordings) {
    const writes = moments.filter(({ kind }) => kind === 'write').length;
    console.log(`${name}: ${writes} writes and ${moments.length - writes} events in ${seconds.toFixed(1)} s`);
    if (finds.length > 0) process.exitCode = 1;
  }
  const plans = await plansToPlay(recordings);
  if (values.list) {
    for (const plan of plans) console.log(planText(plan));
    return;
  }
  const outcomes = await playAll(cluster, plans.map(taskOf));
  table(outcomes, (performance.now() - begun) / 1000);
  const found = await confirmed(
    cluster,
    outcomes.filter(({ finds }) => finds.length > 0),
  );
  for (const { plan } of found)
    if (plan !== undefined) console.log(`again: npm run perturb -- --plan '${planText(plan)}'`);
  if (found.length > 0) process.exitCode = 1;
}

await main();
