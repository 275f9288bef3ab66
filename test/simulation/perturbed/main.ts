/** Plays plans of the perturbation test in virtual time; ../README.md says how to call it. */
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createRandom } from '../../chaos/random.ts';
import { drawPairs, planText, plansOf } from '../../perturbation/plan.ts';
import { loadScenarios } from '../../perturbation/scenarios.ts';
import { playInThreads, threadCount } from '../threads.ts';
import { tryFaults } from './faults.ts';
import { playPlan } from './play.ts';
import type { PlanExchange, Played, ToPlay } from './tasks.ts';

const SCENARIOS = await loadScenarios();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scenario: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    plan: { type: 'string', multiple: true, default: [] },
    plans: { type: 'string', default: '2000' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '86400' },
    threads: { type: 'string' },
    first: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    histories: { type: 'string', default: '40' },
    list: { type: 'boolean', default: false },
  },
});
const THREAD = path.join(import.meta.dirname, 'thread.ts');
const LOG_LINES = 25;
const seed = Number(values.seed);

/** Draws so many of them, each once. */
function drawn<T>(all: readonly T[], count: number): readonly T[] {
  const random = createRandom(seed);
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.whole(left.length), 1)).flat();
}

/** The plans of a scenario: all of one moment, then pairs, up to the number that is wanted; a sample of them where that is told. */
async function plansToPlay(name: string): Promise<readonly ToPlay[]> {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}; there are ${Object.keys(SCENARIOS).join(', ')}`);
  const { moments, finds } = await playPlan({ name, scenario }, seed);
  const writes = moments.filter(({ kind }) => kind === 'write').length;
  console.log(`${name}: ${writes} writes and ${moments.length - writes} events`);
  for (const { what, detail } of finds) console.log(`FOUND without a plan in ${name}: ${what}\n    ${detail}`);
  if (finds.length > 0) process.exitCode = 1;
  const singles = plansOf(name, moments);
  const pairs = drawPairs(name, moments, Math.max(0, Number(values.plans) - singles.length), createRandom(seed));
  const all = [...singles, ...pairs].map((plan) => ({ text: planText(plan), seed }));
  return values.sample === undefined ? all : drawn(all, Number(values.sample));
}

function report({ text, finds, log }: Played): void {
  console.log(`FOUND: ${text}`);
  for (const { what, detail } of finds) console.log(`    ${what}\n        ${detail.slice(0, 800)}`);
  for (const line of log.slice(-LOG_LINES)) console.log(`      ${line.slice(0, 240)}`);
}

function table(played: readonly Played[], seconds: number): void {
  console.log('scenario        plans  reached  with finds   ms each');
  for (const name of Object.keys(SCENARIOS)) {
    const own = played.filter(({ text }) => text.startsWith(`${name} `));
    if (own.length === 0) continue;
    const ms = own.reduce((sum, each) => sum + each.ms, 0) / own.length;
    const cells = [own.length, own.filter(({ reached }) => reached).length, own.filter(isFind).length, ms.toFixed(0)];
    console.log(
      [name.padEnd(14), ...cells.map((cell, at) => String(cell).padStart([5, 7, 10, 8][at] ?? 8))].join('  '),
    );
  }
  const rate = ((played.length / seconds) * 60).toFixed(0);
  console.log(`${played.length} plans in ${seconds.toFixed(1)} s, ${rate} a minute`);
}

function isFind({ finds }: Played): boolean {
  return finds.length > 0;
}

/** The plans until time is over, or until one has a find, where only the first is asked for. */
function* untilOver(tasks: readonly ToPlay[], played: readonly Played[]): Generator<ToPlay> {
  const until = performance.now() + Number(values.seconds) * 1_000;
  for (const [index, task] of tasks.entries()) {
    if (values.first && played.some(isFind)) return;
    if (performance.now() > until) {
      console.log(`${tasks.length - index} plans NOT PLAYED: time is over`);
      return;
    }
    yield task;
  }
}

async function main(): Promise<void> {
  const tasks: ToPlay[] = values.plan.map((text) => ({ text, seed }));
  if (tasks.length === 0) for (const name of values.scenario.split(',')) tasks.push(...(await plansToPlay(name)));
  if (values.list) {
    for (const { text } of tasks) console.log(text);
    return;
  }
  const begun = performance.now();
  const played: Played[] = [];
  const threads = Math.min(threadCount(values.threads), tasks.length);
  await playInThreads<PlanExchange>(THREAD, untilOver(tasks, played), threads, (outcome) => {
    played.push(outcome);
    if (isFind(outcome)) report(outcome);
  });
  table(played, (performance.now() - begun) / 1_000);
  const found = played.filter(isFind);
  for (const { text } of found) console.log(`again: npm run perturb:simulated -- --seed ${seed} --plan '${text}'`);
  if (found.length > 0) process.exitCode = 1;
}

if (values.faults) await tryFaults(positionals, Number(values.histories));
else await main();
