/** What happens around the product: kubelets, agents of static pods, other controllers, and the events of the small world. */
import { objectPath, PODS } from '../../src/kube/resource.ts';
import { describeStep, type Step, type StepKinds } from '../chaos/history.ts';
import { nodeObject } from '../chaos/objects.ts';
import { runStaticPod } from '../chaos/stand-ins/kubelets.ts';
import { CLUSTER_STEPS } from '../chaos/steps/cluster.ts';
import { MAINTENANCE_STEPS } from '../chaos/steps/maintenances.ts';
import { NODE_STEPS } from '../chaos/steps/nodes.ts';
import { POD_STEPS } from '../chaos/steps/pods.ts';
import type { World } from '../chaos/world.ts';
import { collectPods, runBudgets } from '../simulation/stand-ins/controllers.ts';
import { NO_OBJECTS } from './objects.ts';
import type { State } from './state.ts';
import type { SmallWorld } from './worlds.ts';
import { type Done, type StaticPods, Work, worldOf } from './world.ts';

/** One thing that may come next, and what it makes of the state. */
export interface Move extends Done {
  readonly label: string;
  /** The step of the chaos test that it is, where it is one. */
  readonly step?: Step;
}

const STEPS: StepKinds = { ...NODE_STEPS, ...POD_STEPS, ...MAINTENANCE_STEPS, ...CLUSTER_STEPS };
const NO_GRACE = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };

async function act(
  state: State,
  statics: StaticPods,
  label: string,
  what: (world: World, work: Work) => Promise<unknown>,
): Promise<Move> {
  const work = new Work(state);
  const world = worldOf(state, work, statics);
  await what(world, work);
  const parked = [...world.parked].toSorted();
  const isSame = parked.join() === state.parked.join();
  return { label, ...work.done(isSame ? {} : { parked }) };
}

async function perform(world: World, step: Step): Promise<void> {
  const kind = STEPS[step.do];
  if (kind === undefined) throw new Error(`there is no step ${step.do}`);
  await kind.perform(world, step.with);
}

/** Starts the pods that are bound, as kubelets do. */
async function startPods(world: World): Promise<void> {
  for (const { metadata, status } of world.pods()) {
    if (status?.phase !== 'Pending') continue;
    const conditions = [{ type: 'Ready', status: 'True' }];
    const body = { status: { phase: 'Running', conditions } };
    const path = objectPath(PODS, metadata, 'status');
    await world.send({ method: 'PATCH', path, body, patch: { kind: 'strategic' } });
  }
}

/** The state that a small world begins with: the controller has seen all of it, and has done nothing yet. */
export async function openWorld(small: SmallWorld, statics: StaticPods): Promise<State> {
  const empty: State = {
    objects: NO_OBJECTS,
    born: {},
    copies: NO_OBJECTS,
    wanted: [],
    told: NO_OBJECTS.NodeMaintenance,
    looks: [],
    strays: [],
    happened: small.events.map(() => false),
    ended: 0,
    era: 0,
    cordonedBy: {},
    parked: [],
  };
  const { state } = await act(empty, statics, 'opening', async (world, work) => {
    for (const name of world.nodeNames.slice(0, small.nodes)) {
      await world.send({ method: 'POST', path: '/api/v1/nodes', body: nodeObject(world, name) });
    }
    for (const step of small.opening) await perform(world, step);
    for (const key of statics.keys) await runStaticPod(world, key, statics.known);
    await startPods(world);
    await runBudgets(world, work.server);
  });
  return { ...state, copies: state.objects, told: state.objects.NodeMaintenance };
}

/** What the rest of the cluster does next, each program by itself. */
export async function clusterMoves(state: State, statics: StaticPods): Promise<readonly Move[]> {
  const moves: Move[] = [];
  for (const { metadata } of state.objects.Pod.list) {
    if (metadata.deletionTimestamp === undefined) continue;
    const body = { ...NO_GRACE, preconditions: { uid: metadata.uid } };
    const request = { method: 'DELETE', path: objectPath(PODS, metadata), body } as const;
    moves.push(await act(state, statics, `kubelet ends ${metadata.name}`, (world) => world.send(request)));
  }
  if (state.objects.PodDisruptionBudget.list.length > 0) {
    moves.push(await act(state, statics, 'budgets are counted', (world, work) => runBudgets(world, work.server)));
  }
  moves.push(await act(state, statics, 'pods without a node are collected', (world) => collectPods(world)));
  for (const key of statics.keys) {
    moves.push(
      await act(state, statics, `agent looks at static pod ${key}`, (world) => runStaticPod(world, key, statics.known)),
    );
  }
  return moves.filter((move) => move.state.objects !== state.objects || move.state.parked !== state.parked);
}

/** The events that have not happened yet. */
export async function eventMoves(state: State, small: SmallWorld, statics: StaticPods): Promise<readonly Move[]> {
  const moves: Move[] = [];
  for (const [index, step] of small.events.entries()) {
    if (state.happened[index] === true) continue;
    const happened = state.happened.with(index, true);
    const move = await act({ ...state, happened }, statics, describeStep(step), (world) => perform(world, step));
    moves.push({ ...move, step });
  }
  return moves;
}
