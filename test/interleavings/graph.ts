/** The states that were seen, by numbers: how each was first reached, and which moves lead from one to another. */

/** Of states only their hashes are kept. */
export class Graph {
  readonly #numbers = new Map<number, number>();
  readonly #hashes: number[] = [];
  readonly #parents: number[] = [];
  readonly #labels: string[] = [];
  readonly #labelTexts = new Map<string, string>();
  readonly #froms: number[] = [];
  readonly #tos: number[] = [];
  readonly #atRest = new Set<number>();

  get size(): number {
    return this.#hashes.length;
  }

  add(hash: number, parent = -1, label = ''): number {
    const number = this.#hashes.length;
    this.#numbers.set(hash, number);
    this.#hashes.push(hash);
    this.#parents.push(parent);
    const text = this.#labelTexts.get(label) ?? label;
    this.#labelTexts.set(text, text);
    this.#labels.push(text);
    return number;
  }

  hashOf(number: number): number | undefined {
    return this.#hashes[number];
  }

  /** Notes that a move leads from a state to the one of this hash. */
  connect(from: number, hash: number, label: string): { readonly number: number; readonly isNew: boolean } {
    const known = this.#numbers.get(hash);
    const number = known ?? this.add(hash, from, label);
    this.#froms.push(from);
    this.#tos.push(number);
    return { number, isNew: known === undefined };
  }

  /** Notes that nobody has anything to do in the state. */
  rest(number: number): void {
    this.#atRest.add(number);
  }

  /** The labels of the shortest way to a state. */
  wayTo(number: number): readonly string[] {
    const way: string[] = [];
    for (let at = number; at > 0; at = this.#parents[at] ?? 0) way.push(this.#labels[at] ?? '');
    return way.toReversed();
  }

  /** The first state from which no way leads to one at rest. */
  firstWithoutRest(): number | undefined {
    const into = new Map<number, number[]>();
    for (const [index, to] of this.#tos.entries()) {
      const list = into.get(to) ?? [];
      list.push(this.#froms[index] ?? 0);
      into.set(to, list);
    }
    const reached = new Set(this.#atRest);
    const waiting = [...reached];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      for (const from of into.get(at) ?? []) {
        if (reached.has(from)) continue;
        reached.add(from);
        waiting.push(from);
      }
    }
    const lost = this.#hashes.findIndex((_, number) => !reached.has(number));
    return lost === -1 ? undefined : lost;
  }
}
