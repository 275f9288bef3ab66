/**
 * The cases by which Kubernetes 1.37.1 tests its validation of `lifecycle.k8s.io`, by their names
 * (pkg/apis/lifecycle/validation/validation_test.go, by the Kubernetes Authors, Apache License 2.0). They were written by the
 * tests of Kubernetes themselves, as they ran: `validation-cases.jsonl` has one in each line.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Eviction, EvictionStatus, LifecycleRequest } from '../../../src/api/lifecycle.ts';
import { rfc3339 } from '../../../src/decide/time.ts';

interface CaseOf<K extends string, T> {
  readonly kind: K;
  readonly name: string;
  /** The clock of the API server, in seconds after the moment to which the times of the case relate. */
  readonly clock?: number;
  /** Absent where the object is created. */
  readonly was?: T;
  readonly is: T;
  /** FIELD: WORDS of each error that is expected; absent where the write is taken. */
  readonly errors?: readonly string[];
}

export type ValidationCase =
  | CaseOf<'eviction' | 'eviction update', Eviction>
  | CaseOf<'request' | 'request update', LifecycleRequest>
  | CaseOf<'eviction status', EvictionStatus>
  | CaseOf<'request status', NonNullable<LifecycleRequest['status']>>;

/** Reads the cases. Times are "@SECONDS", relative to the moment of the case. */
export async function readValidationCases(): Promise<readonly ValidationCase[]> {
  const text = await readFile(path.join(import.meta.dirname, 'validation-cases.jsonl'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ValidationCase);
}

/**
 * Cases of changed start times: the function that upstream's case tests takes them, and the API server refuses them all the same,
 * by the declared rule that the field cannot be modified.
 */
const UNMODIFIED = [
  'startTime can be set to the present time with an allowed skew - slower clock',
  'responder startTime can be set to the present time with an allowed skew - faster clock',
];

/** The errors of the API server that a case has; undefined where the write is taken. */
export function expectedErrors({ kind, name, errors }: ValidationCase): readonly string[] | undefined {
  return kind === 'eviction status' && UNMODIFIED.includes(name) ? ['startTime'] : errors;
}

/** A part of a case as it is when the clock of the API server is `now`, in milliseconds since the epoch. */
export function atTime<T>(part: T, clock: number | undefined, now: number): T {
  const base = now - (clock ?? 0) * 1_000;
  const revived: unknown = JSON.parse(JSON.stringify(part), (_, value: unknown) => {
    const match = typeof value === 'string' ? /^@(-?\d+)$/u.exec(value) : null;
    return match === null ? value : rfc3339(base + Number(match[1]) * 1_000);
  });
  return revived as T;
}
