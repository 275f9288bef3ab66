/** What a run counts, and what it finds. */

/** How much is played. */
export interface Amount {
  readonly sequences: number;
  readonly seed: number;
}

/** Something that should not be. */
export interface Find {
  /** Which oracle says so. */
  readonly oracle: 'last alone' | 'rules' | 'refused leaves no mark' | 'taken back' | 'schema' | 'message';
  readonly sequence: number;
  readonly what: string;
}

/** The counts and the finds of a run. */
export class Tally {
  sequences = 0;
  allowed = 0;
  /** Changes that the schema itself refuses, or rules beside it. */
  refused = 0;
  readonly finds: Find[] = [];
  readonly #begun = performance.now();

  /** Notes a find. */
  find(oracle: Find['oracle'], sequence: number, what: string): void {
    this.finds.push({ oracle, sequence, what });
  }

  /** One line with all numbers. */
  line(): string {
    const seconds = ((performance.now() - this.#begun) / 1_000).toFixed(1);
    const counts = `${this.sequences} sequences, ${this.allowed} changes allowed, ${this.refused} refused`;
    return `${counts}, ${this.finds.length} finds, ${seconds} s`;
  }
}

/** The seed of one sequence of a run: the same sequence can be played alone. */
export function seedOf(seed: number, sequence: number): number {
  return (seed * 100_003 + sequence) % 2 ** 31;
}

/** The difference of two states as lines, the first ones; empty where they are the same. */
export function differenceOf(one: unknown, other: unknown, path = ''): readonly string[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  const areMaps = [one, other].every((each) => typeof each === 'object' && each !== null);
  if (!areMaps) return [`${path}: ${JSON.stringify(one)?.slice(0, 300)} and ${JSON.stringify(other)?.slice(0, 300)}`];
  const [left, right] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.flatMap((key) => differenceOf(left[key], right[key], `${path}/${key}`)).slice(0, 8);
}
