import { describeError } from '../../src/errors.ts';
import { runMachine } from '../chaos/machine/kubelet.ts';
import { type Machine, openMachine } from '../chaos/machine/machine.ts';
import { clean } from '../chaos/phases.ts';
import { runInterceptors } from '../chaos/stand-ins/interceptors.ts';
import { runKubelets } from '../chaos/stand-ins/kubelets.ts';
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
  /** Whether the moment of the plan has come. */
  readonly reached: boolean;
  /** Each kind once. */
  readonly finds: readonly Find[];
  readonly seconds: number;
  /** What the programs have logged. */
  readonly log: readonly string[];
}

let runs = 0;

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

async function openMachineOf({ controlPlane, product }: PerturbationCluster, id: string): Promise<Machine> {
  return await openMachine(controlPlane, product, nodeNamesOf(id)[MACHINE_NODE] ?? '');
}

/** Plays a scenario once. Nothing may be written for `stillMs` when it is over. */
export async function runPlan(
  cluster: PerturbationCluster,
  { name, scenario, plan }: Task,
  stillMs: number,
): Promise<Outcome> {
  const begun = performance.now();
  runs += 1;
  const id = `q${runs}`;
  await using machine = scenario.hasMachine === true ? await openMachineOf(cluster, id) : undefined;
  using part = createPart(cluster, id);
  const stage = createStage(cluster, part, { plan, machine });
  const stopping = new AbortController();
  const playing = Promise.all([
    ...[runKubelets, runInterceptors].map((run) => run(part, stopping.signal)),
    ...(machine === undefined ? [] : [runMachine(Object.assign(part, { machine }), stopping.signal)]),
  ]);
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
    reached: stage.actors.some(({ trace }) => trace.reached()),
    finds: [...new Map(finds.map((find) => [find.what, find])).values()],
    seconds: (performance.now() - begun) / 1000,
    log: stage.actors.flatMap(({ name, log }) => log.map((line) => `${name}: ${line}`)),
  };
}
