import { describeError } from '../../src/errors.ts';
import { clean } from '../chaos/phases.ts';
import { createPart, MACHINE_NODE, nodeNamesOf } from '../chaos/world.ts';
import type { PerturbationCluster } from './cluster.ts';
import { type Find, judge } from './judge.ts';
import type { Moment, Plan } from './plan.ts';
import type { Scenario } from './scenarios.ts';
import { createStage, type Stage } from './stage.ts';

/** A scenario under its name, and what goes wrong in it; without a plan nothing does, and its moments are recorded. */
export interface Task {
  readonly name: string;
  readonly scenario: Scenario;
  readonly plan?: Plan;
}

/** What came of playing a scenario. */
export interface Outcome {
  readonly name: string;
  /** Undefined where nothing went wrong on purpose. */
  readonly plan: Plan | undefined;
  /** What the programs have written and seen, in the order of each. */
  readonly moments: readonly Moment[];
  /** Whether all moments of the plan have come. */
  readonly reached: boolean;
  /** Each kind once. */
  readonly finds: readonly Find[];
  readonly seconds: number;
  /** What the programs have logged. */
  readonly log: readonly string[];
}

/** Plays the scenario on the stage; what did not come to pass, and what is wrong in the end. */
async function perform(
  cluster: PerturbationCluster,
  stage: Stage,
  scenario: Scenario,
  stillMs: number,
): Promise<readonly Find[]> {
  const found: Find[] = [];
  try {
    await scenario.play(stage);
  } catch (error) {
    const [what = '', ...rest] = describeError(error).split('\n');
    const state = JSON.stringify([...stage.part.maintenances(), ...stage.part.requests()].map(({ status }) => status));
    found.push({ what: `end: ${what}`, detail: [...rest, state].join(' ') });
  }
  return [...found, ...(await judge(cluster, stage, stillMs))];
}

/** Plays a scenario once. Nothing may be written for `stillMs` when it is over. */
export async function runPlan(
  cluster: PerturbationCluster,
  { name, scenario, plan }: Task,
  stillMs: number,
): Promise<Outcome> {
  const begun = performance.now();
  const id = cluster.newId();
  const nodeName = nodeNamesOf(id)[MACHINE_NODE] ?? '';
  await using machine = scenario.hasMachine === true ? await cluster.openMachine(nodeName) : undefined;
  using part = createPart(cluster, id);
  const stage = createStage(cluster, part, { plan, machine });
  const stopping = new AbortController();
  const playing = Promise.all([cluster.play(part, stopping.signal), machine?.play(part, stopping.signal)]);
  let finds: readonly Find[] = [];
  try {
    finds = await perform(cluster, stage, scenario, stillMs);
  } finally {
    await Promise.all(stage.actors.map((actor) => actor.stop()));
    await clean(part);
    stopping.abort();
    await playing;
  }
  return {
    name,
    plan,
    moments: stage.actors.flatMap(({ trace }) => trace.moments),
    reached: stage.actors.reduce((sum, { trace }) => sum + trace.reached(), 0) === (plan?.perturbations.length ?? 0),
    finds: [...new Map(finds.map((find) => [find.what, find])).values()],
    seconds: (performance.now() - begun) / 1000,
    log: stage.actors.flatMap(({ name, log }) => log.map((line) => `${name}: ${line}`)),
  };
}
