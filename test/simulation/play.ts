/** Plays one history in virtual time. */
import { describeStep, generateHistory, type History, type StepKinds } from '../chaos/history.ts';
import { signatureOf, type Violation } from '../chaos/invariants/violation.ts';
import { nodeObject } from '../chaos/objects.ts';
import { CHECKOUT } from '../chaos/product.ts';
import { createRandom, type Random } from '../chaos/random.ts';
import { createKubelets } from '../chaos/stand-ins/kubelets.ts';
import { MACHINE_NODE, nodeNamesOf } from '../chaos/world.ts';
import { createModelServer } from './api-server/server.ts';
import { type Finding, judgeAtRest, judgeEnd, judgeRecord } from './judge.ts';
import { createHistoryMachine } from './machine/with-agent.ts';
import { Network } from './network.ts';
import { clusterOf, createSimulatedReplicas, loadController, type RunController } from './replicas.ts';
import { createInterceptor, live, type Scene } from './scene.ts';
import { simulatedSteps } from './steps.ts';
import { inVirtualTime } from './time.ts';
import { createRecord, createSimulatedWorld, ID } from './world.ts';

/** The pause between two steps: sometimes the product has seen the one before, sometimes not. */
const PAUSE_MS = 80;
/** Steps after the opening, and up to twice as many. */
const LENGTH = 16;

/** What came of a history. */
export interface SimulatedOutcome {
  readonly history: History;
  readonly violations: readonly Finding[];
  /** Every step, and every request that may change something, with its time and its answer. */
  readonly trace: readonly string[];
  readonly writes: number;
}

const MACHINE_NODE_NAME = nodeNamesOf(ID)[MACHINE_NODE] ?? '';

async function performSteps(scene: Scene, history: History): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  for (const step of history.steps) {
    const { trace } = scene.record;
    trace.push(`          step ${describeStep(step)}`);
    if (step.do === 'rest') found.push(...(await judgeAtRest(scene)));
    else if (step.do === 'wait') await live(scene, Number(step.with['ms']));
    else await scene.steps[step.do]?.perform(scene.world, step.with);
    await live(scene, PAUSE_MS);
  }
  return found;
}

function distinct(violations: readonly Finding[]): readonly Finding[] {
  return [...new Map(violations.map((violation) => [signatureOf(violation), violation])).values()];
}

/** Draws the history of a seed; `stage` is not acted on. */
function historyOf(random: Random, seed: number, steps: StepKinds, length: number): History {
  return generateHistory(seed, length + random.whole(length), steps);
}

/** What is played beside what the seed says. */
interface Choice {
  /** The history whose steps are played, with the delays of the seed; the seed's own unless given. */
  readonly history?: History;
  /** The controller of this checkout, unless given. */
  readonly controller?: RunController;
  /** Whether the first node has an agent; none has, unless given. */
  readonly hasAgent?: boolean;
}

/** Plays the history of a seed. */
export async function playHistory(seed: number, choice: Choice = {}): Promise<SimulatedOutcome> {
  const runController = choice.controller ?? (await loadController(CHECKOUT));
  const random = createRandom(seed);
  return await inVirtualTime(random, async (time) => {
    const server = createModelServer(time.now);
    const record = createRecord(time);
    const network = new Network(time, server, random, (program, request, response) => {
      record.note(program, request, response);
    });
    const replicas = createSimulatedReplicas(runController, time, network);
    const machine = choice.hasAgent === true ? createHistoryMachine(network, MACHINE_NODE_NAME) : undefined;
    const world = createSimulatedWorld(server, { network, record, cluster: clusterOf(replicas), machine });
    const stage = { time, server, replicas, machine };
    const steps = simulatedSteps(stage);
    const scene: Scene = {
      ...stage,
      world,
      record,
      steps,
      kubelets: createKubelets(world),
      interceptors: createInterceptor(world, stage),
      looked: { changes: 0, at: 0 },
    };
    const history = choice.history ?? historyOf(random, seed, steps, LENGTH);
    for (const name of world.nodeNames) {
      await world.send({ method: 'POST', path: '/api/v1/nodes', body: nodeObject(world, name) });
    }
    await replicas.start();
    await machine?.startAgent();
    await live(scene, 2_000);
    const found = [...(await performSteps(scene, history)), ...(await judgeEnd(scene, history)), ...judgeRecord(scene)];
    await machine?.endAgent('kill');
    await replicas.end();
    return { history, violations: distinct(found), trace: record.trace, writes: record.writes.length };
  });
}
