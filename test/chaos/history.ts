import type { Random } from './random.ts';
import { createRandom } from './random.ts';
import type { World } from './world.ts';

/** The arguments of a step; they name objects by small numbers, so that a step means something in any history. */
export type Arguments = Readonly<Record<string, string | number>>;

/** One move of a history, as it is printed and read again. */
export interface Step {
  readonly do: string;
  readonly with: Arguments;
}

/** What a seed stands for: the moves of users, machines and programs around the product. */
export interface History {
  /** What a history that a person has written is about. */
  readonly name?: string;
  readonly seed: number;
  readonly steps: readonly Step[];
}

/** The numbers of objects that the steps before made; the objects may be gone by now. */
export interface Past {
  readonly pods: readonly [number, ...number[]];
  readonly maintenances: readonly [number, ...number[]];
}

/** A kind of step. */
export interface StepKind {
  /** How often it is drawn, compared with the other kinds. */
  readonly weight: number;
  /** Draws the arguments; `past` tells what the steps before made. */
  draw(random: Random, past: Past): Arguments;
  /** Makes the move and returns its outcome in a few words; a move that has no object yet or any more changes nothing. */
  perform(world: World, step: Arguments): Promise<string>;
}

export type StepKinds = Readonly<Record<string, StepKind>>;

/** What every history begins with: pods of each type on the nodes. */
const OPENING: readonly Step[] = [
  { do: 'create pod', with: { pod: 0, node: 0, sort: 'plain', namespace: 0 } },
  { do: 'create pod', with: { pod: 1, node: 0, sort: 'intercepted', namespace: 0 } },
  { do: 'create pod', with: { pod: 2, node: 1, sort: 'plain', namespace: 0 } },
  { do: 'create pod', with: { pod: 3, node: 2, sort: 'low priority', namespace: 1 } },
  { do: 'create DaemonSet', with: { set: 0 } },
  { do: 'add static pod', with: { static: 0, node: 0 } },
  { do: 'add static pod', with: { static: 0, node: 1 } },
];

function numbersOf(steps: readonly Step[], kind: string, argument: string): readonly [number, ...number[]] {
  const numbers = steps.flatMap((step) => (step.do === kind ? [Number(step.with[argument])] : []));
  const [first = 0, ...rest] = new Set(numbers);
  return [first, ...rest];
}

function drawStep(random: Random, kinds: StepKinds, steps: readonly Step[]): Step {
  const past: Past = {
    pods: numbersOf(steps, 'create pod', 'pod'),
    maintenances: numbersOf(steps, 'create maintenance', 'maintenance'),
  };
  const entries = Object.entries(kinds);
  let left = random.whole(entries.reduce((sum, [, { weight }]) => sum + weight, 0));
  for (const [name, kind] of entries) {
    left -= kind.weight;
    if (left < 0) return { do: name, with: kind.draw(random, past) };
  }
  throw new Error('no step kind has a weight');
}

/** The history of a seed, with so many steps after the opening. */
export function generateHistory(seed: number, length: number, kinds: StepKinds): History {
  const random = createRandom(seed);
  const steps: Step[] = [...OPENING];
  while (steps.length < OPENING.length + length) steps.push(drawStep(random, kinds, steps));
  return { seed, steps };
}

/** A step on one line. */
export function describeStep(step: Step): string {
  const words = Object.entries(step.with).map(([key, value]) => `${key}=${value}`);
  return [step.do, ...words].join(' ');
}
