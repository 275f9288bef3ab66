/** Plays one history in virtual time, and judges it by the invariants of the chaos test, and by stability. */
import { MAINTENANCE_REQUESTER } from '../../src/api/names.ts';
import { EVICTION_REQUESTS, objectPath } from '../../src/kube/resource.ts';
import { generateHistory, describeStep, type History, type StepKinds } from '../chaos/history.ts';
import { checkForeign } from '../chaos/invariants/foreign.ts';
import { checkGivenBack, checkLeftOvers } from '../chaos/invariants/given-back.ts';
import { checkLeaving } from '../chaos/invariants/leaving.ts';
import { checkManifests } from '../chaos/invariants/manifests.ts';
import { checkStatus } from '../chaos/invariants/status.ts';
import { type Invariant, signatureOf, type Violation } from '../chaos/invariants/violation.ts';
import { nodeObject } from '../chaos/objects.ts';
import { CHECKOUT } from '../chaos/product.ts';
import { endMaintenances, keptAway, unblock, unfinished } from '../chaos/phases.ts';
import { createRandom, type Random } from '../chaos/random.ts';
import { actOnRequests } from '../chaos/stand-ins/interceptors.ts';
import { createKubelets } from '../chaos/stand-ins/kubelets.ts';
import { MACHINE_NODE, nodeNamesOf, type World } from '../chaos/world.ts';
import { createModelServer } from './api-server/server.ts';
import { createHistoryMachine } from './machine/with-agent.ts';
import { Network } from './network.ts';
import { clusterOf, createSimulatedReplicas, loadController, type RunController } from './replicas.ts';
import { collectPods, runBudgets, runDaemonSets } from './stand-ins/controllers.ts';
import { repeatedWrites } from './repeated-writes.ts';
import { simulatedSteps, type Stage } from './steps.ts';
import { inVirtualTime } from './time.ts';
import { changesOf, CONTROLLER, createRecord, createSimulatedWorld, ID, type Record, REPORT } from './world.ts';

/** A violation of an invariant of the chaos test, or of stability: when nothing changes, nobody writes. */
export interface Finding extends Omit<Violation, 'invariant'> {
  readonly invariant: Invariant | 'stable';
}

/** What came of a history. */
export interface SimulatedOutcome {
  readonly history: History;
  readonly violations: readonly Finding[];
  /** Every step, and every request that may change something, with its time and its answer. */
  readonly trace: readonly string[];
  readonly writes: number;
}

/** Stand-ins look so often while something changes. */
const LOOK_MS = 100;
/** The heart of an interceptor beats so often. */
const BEAT_MS = 5 * 60_000;
/** The pause between two steps: sometimes the product has seen the one before, sometimes not. */
const PAUSE_MS = 80;
/** By then a Lease that nobody renews has expired, and a replica leads and has seen everything. */
const LED_MS = 180_000;
/** The world rests when nothing has changed for so long, as in the chaos test. */
const QUIET_MS = 4_000;
/** A world that does not come to rest in this time never does. */
const REST_MS = 10 * 60_000;
/** How long drains may take in which nothing blocks, heartbeats of 20 minutes included. */
const BOUND_MS = 3 * 3_600_000;
/** By then a new leader has worked, and finished requests are deleted. */
const SETTLED_MS = 5 * 60_000;
/** When all is done, nobody writes anything for so long. */
const STABLE_MS = 30 * 60_000;
/** What an interceptor writes, as often as its heart beats. */
const BEAT = 'evictionrequests/status';

/** Plays somebody outside: does what is due now. */
interface StandIn {
  look(): Promise<void>;
}

/** The interceptor of pods; one whose heart beats, or that lies, writes at each look, and looks seldom. */
function createInterceptor(world: World, { time }: Stage): StandIn {
  let nextAt = 0;
  return {
    look: async () => {
      const isTalking = world.interceptors === 'beats' || world.interceptors === 'lies';
      if (isTalking && time.now() < nextAt) return;
      nextAt = time.now() + BEAT_MS;
      await actOnRequests(world);
    },
  };
}

/** Each fourth history has an agent on its first node: time passes more slowly with one. */
const hasAgent = (seed: number): boolean => seed % 4 === 0;
const MACHINE_NODE_NAME = nodeNamesOf(ID)[MACHINE_NODE] ?? '';

/** The users as which the product writes. */
function usersOf({ machine }: Scene): readonly string[] {
  return machine === undefined ? [CONTROLLER] : [CONTROLLER, `system:node:${machine.nodeName}`];
}

/** Everything of one history. */
interface Scene extends Stage {
  readonly world: World;
  readonly record: Record;
  readonly steps: StepKinds;
  readonly kubelets: StandIn;
  readonly interceptors: StandIn;
  /** How many changes the stand-ins have seen, and when the last one of them was. */
  readonly looked: { changes: number; at: number };
}

/** Whether something has changed since this was asked last that is no Lease, which is renewed all the time, and no Event. */
function isNewer(scene: Scene): boolean {
  const { changes } = scene.server.objects;
  const isMoved = scene.machine?.isStill() === false;
  if (isMoved) scene.looked.at = scene.time.now();
  if (changes.length === scene.looked.changes) return isMoved;
  const isOther = changes.slice(scene.looked.changes).some(({ kind }) => kind !== 'Lease' && kind !== 'Event');
  scene.looked.changes = changes.length;
  if (isOther) scene.looked.at = scene.time.now();
  return isOther || isMoved;
}

/** Lets time pass, in which the stand-ins of the cluster act on what changes. */
async function live(scene: Scene, ms: number): Promise<void> {
  const { time, server, world, interceptors } = scene;
  const until = time.now() + ms;
  let calmSince = time.now();
  while (time.now() < until) {
    // A pod takes a while to end after the last change of it.
    if (isNewer(scene) || scene.looked.at > calmSince) calmSince = time.now();
    if (time.now() - calmSince < 1_000) {
      await scene.kubelets.look();
      await scene.machine?.look(world);
      await runDaemonSets(world, server);
      await collectPods(world);
      await runBudgets(world, server);
      await interceptors.look();
      await time.pass(Math.min(LOOK_MS, until - time.now()));
    } else await time.pass(until - time.now(), () => isNewer(scene));
  }
}

/** Waits until nothing has changed for a while; returns whether that came to pass. */
async function untilQuiet(scene: Scene): Promise<boolean> {
  const { time } = scene;
  await live(scene, LED_MS);
  const deadline = time.now() + REST_MS;
  while (time.now() < deadline) {
    const since = time.now();
    await live(scene, QUIET_MS);
    if (scene.looked.at <= since) return true;
  }
  return false;
}

async function judgeAtRest(scene: Scene): Promise<readonly Violation[]> {
  await scene.replicas.settle();
  const isQuiet = await untilQuiet(scene);
  if (!isQuiet) return [];
  return [...checkStatus(scene.world), ...checkGivenBack(scene.world), ...(await keptAway(scene.world))];
}

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

/** Waits until nothing is found, or the bound is over. */
async function untilNone(scene: Scene, look: () => readonly Violation[]): Promise<readonly Violation[]> {
  const deadline = scene.time.now() + BOUND_MS;
  while (look().length > 0 && scene.time.now() < deadline) await live(scene, 10_000);
  return look();
}

/** What is written although nothing happens; Leases are renewed, and agents report once an hour. */
async function judgeStability(scene: Scene, when: string): Promise<readonly Finding[]> {
  const { record, time } = scene;
  await live(scene, SETTLED_MS);
  const since = time.now();
  await live(scene, STABLE_MS);
  const repeated: readonly string[] = ['Lease', 'Event', REPORT];
  const late = record.writes.filter(({ at, resource }) => at > since && !repeated.includes(resource));
  const [first] = late;
  if (first === undefined) return [];
  const what = `${first.user} writes ${first.resource} ${when}, when nothing changes any more`;
  return [{ invariant: 'stable', what, detail: `${late.length} writes, the first: ${JSON.stringify(first)}` }];
}

/** When a pod changed last, or anything that somebody outside writes; the heart of an interceptor changes nothing that is asked. */
function lastChangeAt(scene: Scene): number {
  const { server, record } = scene;
  const ours = usersOf(scene);
  const pod = server.objects.changes.findLast(({ kind }) => kind === 'Pod');
  const other = record.writes.findLast(({ user, resource }) => !ours.includes(user) && resource !== BEAT);
  return Math.max(pod?.at ?? 0, other?.at ?? 0);
}

/** Lets time pass until nothing has changed for half an hour, or a drain has gone on for very long; returns when the still part began. */
async function untilStill(scene: Scene): Promise<number> {
  const deadline = scene.time.now() + BOUND_MS;
  const stillSince = (): number => lastChangeAt(scene) + SETTLED_MS;
  // A drain can go on: an interceptor that is silent loses its turn after 20 minutes.
  while (scene.time.now() < stillSince() + STABLE_MS && scene.time.now() < deadline) {
    await live(scene, Math.min(stillSince() + STABLE_MS, deadline) - scene.time.now());
  }
  return Math.max(stillSince(), scene.time.now() - STABLE_MS);
}

/** What is written again and again while nothing changes outside, and drains may be blocked. */
async function judgeRates(scene: Scene): Promise<readonly Finding[]> {
  const since = await untilStill(scene);
  return repeatedWrites(scene.record.writes, scene.server.objects.changes, since, usersOf(scene)).map((what) => ({
    invariant: 'stable',
    ...what,
  }));
}

/** What can be said of the whole record. */
function judgeRecord(scene: Scene): readonly Violation[] {
  const { server, record, machine } = scene;
  const changes = changesOf(server);
  const users = usersOf(scene);
  const ended = machine?.failure();
  return [
    ...checkLeaving(changes, record.writes, users),
    ...checkForeign(changes, record.writes, users),
    ...(machine === undefined ? [] : checkManifests(changes, machine.moves, machine.nodeName)),
    ...(ended === undefined
      ? []
      : [{ invariant: 'manifests' as const, what: 'the agent ended by itself', detail: ended }]),
  ];
}

/** Others ask no more: a static pod for which only they ask would be waited for in vain. */
async function withdrawOthers(world: World): Promise<void> {
  for (const { metadata, spec } of world.requests()) {
    const requesters = (spec.requesters ?? []).filter(({ name }) => name === MAINTENANCE_REQUESTER);
    const path = objectPath(EVICTION_REQUESTS, metadata);
    await world.send({ method: 'PATCH', path, body: { spec: { requesters } }, patch: { kind: 'merge' } });
  }
}

async function judgeEnd(scene: Scene, history: History): Promise<readonly Finding[]> {
  const { world, replicas } = scene;
  await replicas.setClock(0);
  await replicas.settle();
  const repeated = await judgeRates(scene);
  await unblock(world);
  await withdrawOthers(world);
  const late = await untilNone(scene, () => unfinished(world));
  const unstable = await judgeStability(scene, 'after the drains');
  const atRest = [...checkStatus(world), ...checkGivenBack(world)];
  await endMaintenances(world);
  const isCordoned = history.steps.some((step) => step.do === 'cordon node');
  const left = await untilNone(scene, () => checkLeftOvers(world, isCordoned));
  const still = await judgeStability(scene, 'after the maintenances');
  const failures = replicas
    .failures()
    .map((error): Finding => ({ invariant: 'stable', what: 'a controller ended by itself', detail: String(error) }));
  return [...repeated, ...late, ...unstable, ...atRest, ...left, ...still, ...failures];
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
    const machine = hasAgent(seed) ? createHistoryMachine(network, MACHINE_NODE_NAME) : undefined;
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

/** Steps after the opening, and up to twice as many. */
const LENGTH = 16;
