/** The invariants; README.md says what each means. */
export type Invariant = 'covered' | 'tiers' | 'drained' | 'given-back' | 'foreign' | 'manifests' | 'status';

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
