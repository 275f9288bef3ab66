/** What the controller does next: a copy follows, a look begins or goes on by one request, or the controller ends. */
import type { KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { Looks, Outcome } from './looks.ts';
import { type KindObjects, KINDS, withChanges, type WorldKind, type WorldObjects } from './objects.ts';
import type { Move } from './outside.ts';
import { idOf, type Look, type State, type Stray, type Wanted } from './state.ts';
import type { SmallWorld } from './worlds.ts';
import { CONTROLLER, type Done, timeOf, Work } from './world.ts';

/** What the controller knew when it decided: its copies, and the maintenances as it had written them. */
export interface Knowledge {
  readonly copies: WorldObjects;
  readonly told: KindObjects;
}

/** A move, and what it was decided by. */
export interface ControllerMove extends Move {
  readonly decidedOn?: Knowledge;
}

/** Watches whose events come together here. */
const WATCHES: readonly (readonly WorldKind[])[] = [
  ['Node'],
  ['NodeMaintenance'],
  ['EvictionRequest'],
  ['Pod', 'PodDisruptionBudget'],
];

const unchanged = (state: State, label: string): ControllerMove => ({ label, state, changes: [], writes: [] });
const without = (looks: readonly Look[], look: Look): readonly Look[] => looks.filter((each) => each !== look);

/** A copy that follows in the middle of a look is of use to the next look only, and may as well follow before that. */
function followMoves(state: State): readonly ControllerMove[] {
  if (state.looks.length > 0) return [];
  return WATCHES.flatMap((watch) => {
    if (watch.every((kind) => state.copies[kind] === state.objects[kind])) return [];
    const fresh = Object.fromEntries(watch.map((kind) => [kind, state.objects[kind]]));
    const copies = { ...state.copies, ...fresh };
    const told = watch.includes('NodeMaintenance') ? copies.NodeMaintenance : state.told;
    return [unchanged({ ...state, copies, told }, `controller sees ${watch.join(' and ')}`)];
  });
}

/** What is wanted when a look has ended: what others have told meanwhile stays, but for what this look has changed. */
function merged(now: readonly Wanted[], began: readonly Wanted[], ended: readonly Wanted[]): readonly Wanted[] {
  if (idOf(began) === idOf(ended)) return now;
  if (idOf(began) === idOf(now)) return ended;
  const by = (list: readonly Wanted[]): Map<string, Wanted> => new Map(list.map((each) => [each.maintenance, each]));
  const [old, fresh, result] = [by(began), by(ended), by(now)];
  for (const name of new Set([...old.keys(), ...fresh.keys()])) {
    const [before, after] = [old.get(name), fresh.get(name)];
    if (before !== undefined && after !== undefined && idOf(before) === idOf(after)) continue;
    if (after === undefined) result.delete(name);
    else result.set(name, after);
  }
  return [...result.values()].toSorted((a, b) => (a.maintenance < b.maintenance ? -1 : 1));
}

const describe = ({ method, path }: KubeRequest): string => `${method} ${path.replace(/^.*\/(?=[^/]*s\/)/, '')}`;

/** After a write of a maintenance the controller knows what it has written. */
function told(before: State, done: Done): Done {
  const { NodeMaintenance: written } = done.state.objects;
  if (written === before.objects.NodeMaintenance) return done;
  return { ...done, state: { ...done.state, told: withChanges(before.told, before.objects.NodeMaintenance, written) } };
}

/** Sends the request of a look, and goes on until it asks for something else. */
async function goOn(looks: Looks, state: State, look: Look): Promise<ControllerMove> {
  const work = new Work(state);
  const label = `controller, ${look.loop} ${look.key}: ${describe(look.request)}`;
  let answer: KubeResponse = work.send(look.request, CONTROLLER);
  let [answers, outcome]: [readonly KubeResponse[], Outcome | undefined] = [look.answers, undefined];
  const beginning = { copies: look.copies, wanted: look.wanted, now: timeOf(state) };
  // What is only read is not waited for: nobody sees it.
  for (;;) {
    answers = [...answers, answer];
    outcome = await looks.after(beginning, look.loop, look.key, answers);
    if (outcome.kind === 'ends' || outcome.request.method !== 'GET') break;
    answer = work.send(outcome.request, CONTROLLER);
  }
  const rest = without(state.looks, look);
  const more =
    outcome.kind === 'ends'
      ? { looks: rest, wanted: merged(state.wanted, look.wanted, outcome.wanted) }
      : { looks: [...rest, { ...look, answers, request: outcome.request }] };
  return { label: `${label} → ${answer.status}`, decidedOn: look, ...told(state, work.done(more)) };
}

/** The looks that begin now; one that only reads and then ends is none. */
async function beginMoves(looks: Looks, state: State): Promise<readonly ControllerMove[]> {
  const { copies, wanted, told: known } = state;
  const moves: ControllerMove[] = [];
  for (const { loop, key, outcome } of await looks.beginners({ copies, wanted, now: timeOf(state) })) {
    if (state.looks.some((look) => look.loop === loop && look.key === key)) continue;
    if (outcome.kind === 'ends') {
      moves.push(unchanged({ ...state, wanted: outcome.wanted }, `controller, ${loop} ${key}: tells what is wanted`));
      continue;
    }
    const look: Look = { loop, key, copies, wanted, told: known, answers: [], request: outcome.request };
    moves.push(await goOn(looks, { ...state, looks: [...state.looks, look] }, look));
  }
  return moves;
}

/** The controller ends, and another one takes over; one of its requests may be under way still. */
function endMoves(state: State): readonly ControllerMove[] {
  const next = { ...state, wanted: [], looks: [], ended: state.ended + 1 };
  const strays = state.looks.map(({ request, copies, told: known }): Stray => ({ request, copies, told: known }));
  return [
    unchanged(next, 'controller ends, another one takes over'),
    ...strays.map((stray) =>
      unchanged(
        { ...next, strays: [...state.strays, stray] },
        `controller ends, another one takes over; ${describe(stray.request)} is under way`,
      ),
    ),
  ];
}

function strayMoves(state: State): readonly ControllerMove[] {
  return state.strays.map((stray) => {
    const work = new Work(state);
    const { status } = work.send(stray.request, CONTROLLER);
    const label = `the request of the controller that has ended arrives: ${describe(stray.request)} → ${status}`;
    return { label, decidedOn: stray, ...work.done({ strays: state.strays.filter((each) => each !== stray) }) };
  });
}

/** Whether a look that began now would change anything if nobody came in between. */
async function isIdle(looks: Looks, state: State): Promise<boolean> {
  for (const move of await beginMoves(looks, state)) {
    let { state: next } = move;
    for (let [look] = next.looks; look !== undefined; [look] = next.looks) next = (await goOn(looks, next, look)).state;
    if (next.objects !== state.objects || idOf(next.wanted) !== idOf(state.wanted)) return false;
  }
  return true;
}

/** The controller of a small world. */
export interface ControllerModel {
  moves(state: State): Promise<readonly ControllerMove[]>;
  /** Whether the controller has seen everything and has nothing to do. */
  rests(state: State): Promise<boolean>;
}

export function createControllerModel(looks: Looks, small: SmallWorld): ControllerModel {
  return {
    moves: async (state) => [
      ...followMoves(state),
      ...(await Promise.all(state.looks.map((look) => goOn(looks, state, look)))),
      ...(state.looks.length < small.parallel ? await beginMoves(looks, state) : []),
      ...(state.ended < small.takeOvers ? endMoves(state) : []),
      ...strayMoves(state),
    ],
    rests: async (state) => {
      if (state.looks.length > 0 || state.strays.length > 0) return false;
      if (KINDS.some((kind) => state.copies[kind] !== state.objects[kind])) return false;
      return await isIdle(looks, state);
    },
  };
}
