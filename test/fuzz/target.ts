import type * as fc from 'fast-check';
import { NodemaintError } from '../../src/errors.ts';

/** What a target is given: a value that JSON can carry, so that a case can be kept. Bytes are a string in latin1. */
export type FuzzInput = string | number | boolean | null | readonly FuzzInput[] | { readonly [key: string]: FuzzInput };

/** A target that is ready to be tried. */
export interface FuzzTrial {
  /** Returns for whatever is right to happen, also a documented refusal; throws for a find. */
  run(input: FuzzInput): Promise<void> | void;
  close?(): Promise<void> | void;
}

/** A part of the program that takes data from outside. */
export interface FuzzTarget {
  readonly name: string;
  readonly inputs: fc.Arbitrary<FuzzInput>;
  /** Makes it ready; it may write into `folder` and nowhere else. */
  open(folder: string): Promise<FuzzTrial> | FuzzTrial;
}

/** Passes over the errors that the program documents, and over nothing else. */
export function expectDocumented(error: unknown): void {
  if (!(error instanceof NodemaintError)) throw error;
}

/** The value of a call; undefined where it refused with a documented error. */
export async function attempt<T>(call: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    expectDocumented(error);
    return undefined;
  }
}

/** The text that an input is; other values as JSON. */
export function textOf(input: FuzzInput): string {
  return typeof input === 'string' ? input : JSON.stringify(input);
}

/** A target that is one function of a text. */
export function textTarget(
  name: string,
  inputs: fc.Arbitrary<string>,
  run: (text: string) => Promise<void> | void,
): FuzzTarget {
  return { name, inputs, open: () => ({ run: (input) => run(textOf(input)) }) };
}

/** The object or list that a text is in JSON; undefined for every other text. */
export function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Throws where numbers are none, or dates invalid, anywhere in what a decision made. */
export function assertFinite(value: unknown, place: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${place} is ${value}`);
  if (typeof value === 'string' && value.includes('Invalid Date')) throw new Error(`${place} is an invalid date`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) assertFinite(inner, `${place}.${key}`);
}
