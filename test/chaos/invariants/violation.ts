/** The invariants, as the command line names them. */
export const INVARIANTS = {
  covered: 'no pod is asked to leave that no active drain covers',
  tiers: 'no pod is targeted while pods of an earlier part of the plan are on its node',
  drained: 'when the world rests and nothing outside blocks, every drain ends within a bound',
  'given-back': 'what no maintenance needs any more is given back',
  foreign: 'what is not the product’s is not changed',
  manifests: 'the manifest of a static pod is away only while a drain covers the pod',
  status: 'what the status says is true',
} as const;
export type Invariant = keyof typeof INVARIANTS;

/** A state or a change that an invariant forbids. */
export interface Violation {
  readonly invariant: Invariant;
  /** What is wrong, without names: two violations with the same words count as the same. */
  readonly what: string;
  /** Where, and what else there is to know. */
  readonly detail: string;
}

/** The words by which two violations are compared. */
export function signatureOf({ invariant, what }: { readonly invariant: string; readonly what: string }): string {
  return `${invariant}: ${what}`;
}
