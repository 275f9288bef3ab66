import { setTimeout as sleep } from 'node:timers/promises';
import { type ChaosCluster, CONTROLLER_USER } from './cluster.ts';
import { type History, type Step } from './history.ts';
import { checkForeign } from './invariants/foreign.ts';
import { checkLeaving } from './invariants/leaving.ts';
import { checkManifests } from './invariants/manifests.ts';
import { signatureOf, type Violation } from './invariants/violation.ts';
import { runMachine } from './machine/kubelet.ts';
import { openMachine } from './machine/machine.ts';
import { clean, judgeAtRest, judgeDrained, judgeLeftOvers, layOut } from './phases.ts';
import { runInterceptors } from './stand-ins/interceptors.ts';
import { runKubelets } from './stand-ins/kubelets.ts';
import { STEP_KINDS } from './steps/kinds.ts';
import { createWorld, MACHINE_NODE, nodeNamesOf, shutdownPrefix, type World } from './world.ts';

/** Between two steps: some things are seen by the product before the next one comes, some are not. */
const PAUSE_MS = 80;

/** A step that was performed. */
export interface Performed {
  /** Seconds since the first step. */
  readonly at: number;
  readonly step: Step;
  readonly outcome: string;
}

/** What came of a history. */
export interface Outcome {
  readonly history: History;
  readonly performed: readonly Performed[];
  /** Each kind of violation once. */
  readonly violations: readonly Violation[];
  readonly seconds: number;
  /** What disturbed all histories meanwhile, the steps of this one included. */
  readonly disturbances: readonly string[];
}

let runs = 0;

async function performSteps(world: World, history: History, performed: Performed[]): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  const begun = performance.now();
  for (const step of history.steps) {
    const at = (performance.now() - begun) / 1000;
    let outcome = 'no such step';
    if (step.do === 'rest') {
      const judged = await judgeAtRest(world);
      found.push(...(judged ?? []));
      const what =
        distinct(judged ?? [])
          .map(signatureOf)
          .join('; ') || 'nothing found';
      outcome = judged === undefined ? 'no rest in time' : what;
    } else outcome = (await STEP_KINDS[step.do]?.perform(world, step.with)) ?? outcome;
    performed.push({ at, step, outcome });
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

async function judge(cluster: ChaosCluster, world: World): Promise<readonly Violation[]> {
  const { changes } = world;
  const prefixes = [world.id, shutdownPrefix(world.id)];
  const writes = (await cluster.writes.read()).filter(({ key }) => prefixes.some((prefix) => key.startsWith(prefix)));
  const { nodeName, moves } = world.machine;
  const users = [CONTROLLER_USER, `system:node:${nodeName}`];
  const ended = world.machine.failure();
  return [
    ...checkLeaving(changes, writes, users),
    ...checkForeign(changes, writes, users),
    ...checkManifests(changes, moves, nodeName),
    ...(ended === undefined
      ? []
      : [{ invariant: 'manifests', what: 'the agent ended by itself', detail: ended } as const]),
  ];
}

/** Plays a history on the cluster and judges it by the invariants. */
export async function runHistory(cluster: ChaosCluster, history: History): Promise<Outcome> {
  const begun = performance.now();
  const begunAt = Date.now();
  runs += 1;
  const id = `h${history.seed}r${runs}`;
  const nodeName = nodeNamesOf(id)[MACHINE_NODE] ?? '';
  await using machine = await openMachine(cluster.controlPlane, nodeName);
  using world = createWorld(cluster, id, machine);
  const performed: Performed[] = [];
  const found: Violation[] = [];
  const stopping = new AbortController();
  await cluster.inPeace(() => cluster.replicas.settle(0, 20_000));
  await cluster.inPeace(() => layOut(world));
  await machine.startAgent();
  const standIns = [runKubelets, runMachine, runInterceptors];
  const playing = Promise.all(standIns.map((run) => run(world, stopping.signal)));
  try {
    found.push(...(await performSteps(world, history, performed)));
    found.push(...(await judge(cluster, world)));
    const isCordoned = history.steps.some((step) => step.do === 'cordon node');
    found.push(...(await judgeDrained(world)));
    found.push(...(await judgeLeftOvers(world, isCordoned)));
    found.push(...(await judge(cluster, world)));
  } finally {
    // It would make the maintenance of an announced shutdown again.
    await machine.endAgent('kill');
    await cluster.inPeace(() => clean(world));
    stopping.abort();
    await playing;
  }
  // The cluster's own logs are gone with it.
  if (found.some(({ invariant }) => invariant === 'manifests')) for (const line of machine.log()) console.log(line);
  const disturbances = cluster.disturbances
    .filter(({ at }) => at >= begunAt)
    .map(({ at, what }) => `${((at - begunAt) / 1000).toFixed(1).padStart(5)} s  ${what}`);
  return { history, performed, violations: distinct(found), seconds: (performance.now() - begun) / 1000, disturbances };
}
