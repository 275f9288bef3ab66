/** A sequence of changes of one object, and the last object alone. */
import type { KubeObject } from '../../../src/api/meta.ts';
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
  bodyOf(at: unknown): KubeObject | object;
}
