/** A sequence of changes of one object, and the last object alone. */
import type { Resource } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import type { Json } from '../schema/schema.ts';

/** One change. */
export interface Step {
  readonly what: string;
  /** A merge patch of the object; absent where the object is deleted and made anew. */
  readonly patch?: Json;
  /** What the object is made anew from. */
  readonly anew?: unknown;
  /** Whether it comes when nothing happens any more: how far a maintenance had come is what is left of it. */
  readonly afterRest?: boolean;
  /** Whether the rules of the API allow it. */
  readonly isAllowed: boolean;
}

/** What is played of one object. */
export interface Play<At = unknown> {
  /** What it is made from. */
  readonly first: At;
  readonly steps: readonly Step[];
}

/** A sequence, and what it has to end like. */
export interface Sequence<At = unknown> extends Play<At> {
  readonly last: Play<At>;
  readonly resource: Resource;
  /** How long it takes until nothing happens any more, in virtual time. */
  readonly restMs: number;
  nameOf(part: ClusterPart): string;
  bodyOf(at: unknown, part: ClusterPart): object;
}

/** How the sequences of a subject are drawn. */
export type Draw = (names: Pick<ClusterPart, 'id' | 'nodeNames'>, random: Random) => Sequence;

/** The sequence without what the rules refuse, for a place that has no rules. */
export function allowedOnly(sequence: Sequence): Sequence {
  return { ...sequence, steps: sequence.steps.filter((step) => step.isAllowed) };
}

/** The last object alone. */
export function lastAlone(sequence: Sequence): Sequence {
  return { ...sequence, ...sequence.last };
}

/** A sequence for people. */
export function describe({ first, steps }: Play): string {
  const changes = steps.map(({ what, isAllowed }) => (isAllowed ? what : `refused ${what}`));
  return [JSON.stringify(first).slice(0, 300), ...changes].join(', ');
}
