/** A state of the small world: the objects, what each program has seen and has begun, and what may still happen outside. */
import type { KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { EvictionIntent } from '../../src/controller/maintenance/wanted-evictions.ts';
import { hashOf, Numbers } from './intern.ts';
import { type Born, type KindObjects, KINDS, type WorldObjects } from './objects.ts';

/** What a maintenance wants evicted, as its loop has told the others in the memory of the controller. */
export interface Wanted {
  readonly maintenance: string;
  readonly intents: readonly EvictionIntent[];
  readonly until?: number;
}

/** A look of a loop of the controller at one key, which has had these answers and waits for the next one. */
export interface Look {
  readonly loop: string;
  readonly key: string;
  /** The copies with which it began. */
  readonly copies: WorldObjects;
  readonly wanted: readonly Wanted[];
  /** What the controller had written of maintenances by then. */
  readonly told: KindObjects;
  readonly answers: readonly KubeResponse[];
  /** The request that is under way. */
  readonly request: KubeRequest;
}

/** A request of a controller that has ended since: it may arrive, or be lost. */
export interface Stray {
  readonly request: KubeRequest;
  readonly copies: WorldObjects;
  readonly told: KindObjects;
}

export interface State {
  readonly objects: WorldObjects;
  readonly born: Born;
  /** The copies of the replica that leads. */
  readonly copies: WorldObjects;
  readonly wanted: readonly Wanted[];
  /** The maintenances as the controller has left them by its last write of one: it knows of that before its copies show it. */
  readonly told: KindObjects;
  readonly looks: readonly Look[];
  readonly strays: readonly Stray[];
  /** The events outside that are still to come may come at any time; each has happened or not, by its place. */
  readonly happened: readonly boolean[];
  /** How many controllers have ended. */
  readonly ended: number;
  /** Which of the world's times it is. */
  readonly era: number;
  /** Who has cordoned a node last, by its name; undefined in a state where nobody has. */
  readonly cordonedBy: Readonly<Record<string, string>>;
  /** Static pods whose manifests are moved away. */
  readonly parked: readonly string[];
}

const texts = new Numbers();
const idsOf = new WeakMap<object, number>();

/** The number of a value that is compared by its content. */
export function idOf(value: object): number {
  const known = idsOf.get(value);
  if (known !== undefined) return known;
  const id = texts.of(JSON.stringify(value));
  idsOf.set(value, id);
  return id;
}

/** The numbers of the objects of each kind. */
export function textOf(objects: WorldObjects): string {
  return KINDS.map((kind) => objects[kind].id).join(',');
}

function lookText({ loop, key, copies, wanted, told, answers }: Look): string {
  return `${loop} ${key} ${textOf(copies)} ${idOf(wanted)} ${told.id} ${idOf(answers)}`;
}

/** A state as text: equal states have equal texts. */
function stateText(state: State): string {
  return [
    textOf(state.objects),
    idOf(state.born),
    textOf(state.copies),
    idOf(state.wanted),
    state.told.id,
    state.looks.map(lookText).toSorted().join(';'),
    state.strays.map(({ request, copies, told }) => `${idOf(request)} ${textOf(copies)} ${told.id}`).join(';'),
    state.happened.map(Number).join(''),
    state.ended,
    state.era,
    idOf(state.cordonedBy),
    state.parked.join(','),
  ].join('|');
}

/** What is remembered of a state. */
export function hashOfState(state: State): number {
  return hashOf(stateText(state));
}
