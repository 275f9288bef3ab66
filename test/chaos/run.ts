import { setTimeout as sleep } from 'node:timers/promises';
import { type ChaosCluster, CONTROLLER_USER } from './cluster.ts';
import { describeStep, type History } from './history.ts';
import { checkForeign } from './invariants/foreign.ts';
import { checkLeaving } from './invariants/leaving.ts';
import { type Invariant, signatureOf, type Violation } from './invariants/violation.ts';
import { clean, judgeAtRest, judgeDrained, judgeLeftOvers, layOut } from './phases.ts';
import { runInterceptors } from './stand-ins/interceptors.ts';
import { runKubelets } from './stand-ins/kubelets.ts';
import { STEP_KINDS } from './steps/kinds.ts';
import { createWorld, type World } from './world.ts';

/** Between two steps: some things are seen by the product before the next one comes, some are not. */
const PAUSE_MS = 80;

/** What came of a history. */
export interface Outcome {
  readonly history: History;
  /** Each step with its outcome. */
  readonly lines: readonly string[];
  /** Each kind of violation once. */
  readonly violations: readonly Violation[];
  readonly seconds: number;
}

let runs = 0;

async function performSteps(world: World, history: History, lines: string[]): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  const begun = Date.now();
  for (const step of history.steps) {
    const at = ((Date.now() - begun) / 1000).toFixed(1).padStart(5);
    if (step.do === 'rest') {
      const judged = await world.cluster.inPeace(() => judgeAtRest(world));
      found.push(...judged);
      lines.push(`${at} s  rest → ${judged.map(signatureOf).join('; ') || 'nothing found'}`);
    } else {
      const outcome = await STEP_KINDS[step.do]?.perform(world, step.with);
      lines.push(`${at} s  ${describeStep(step)} → ${outcome ?? 'no such step'}`);
    }
    await sleep(PAUSE_MS);
  }
  return found;
}

function distinct(violations: readonly Violation[]): readonly Violation[] {
  const known = new Map<string, Violation>();
  for (const violation of violations) {
    const signature = signatureOf(violation);
    if (!known.has(signature)) known.set(signature, violation);
  }
  return [...known.values()];
}

async function judge(cluster: ChaosCluster, world: World, from: number): Promise<readonly Violation[]> {
  const changes = cluster.timeline.changes.slice(from).filter(({ object }) => world.owns(object));
  const writes = (await cluster.writes.read()).filter(({ key }) => key.startsWith(world.id));
  return [...checkLeaving(changes, writes, CONTROLLER_USER), ...checkForeign(changes, writes, CONTROLLER_USER)];
}

/** Plays a history on the cluster and judges it by the invariants that are asked for. */
export async function runHistory(
  cluster: ChaosCluster,
  history: History,
  invariants: ReadonlySet<Invariant>,
): Promise<Outcome> {
  const begun = Date.now();
  runs += 1;
  const world = createWorld(cluster, `h${history.seed}r${runs}`);
  const from = cluster.timeline.changes.length;
  const lines: string[] = [];
  const found: Violation[] = [];
  const stopping = new AbortController();
  await cluster.inPeace(() => cluster.replicas.settle(0, 20_000));
  await layOut(world);
  const playing = Promise.all([runKubelets(world, stopping.signal), runInterceptors(world, stopping.signal)]);
  try {
    found.push(...(await performSteps(world, history, lines)));
    const isCordoned = history.steps.some((step) => step.do === 'cordon node');
    await cluster.inPeace(async () => {
      found.push(...(await judgeDrained(world)));
      found.push(...(await judgeLeftOvers(world, isCordoned)));
    });
    found.push(...(await judge(cluster, world, from)));
  } finally {
    await clean(world);
    stopping.abort();
    await playing;
  }
  const violations = distinct(found.filter(({ invariant }) => invariants.has(invariant)));
  return { history, lines, violations, seconds: (Date.now() - begun) / 1000 };
}
