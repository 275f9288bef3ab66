/** Numbers for texts and values: two states are compared by the numbers of their parts. */

/** Gives equal texts the same number, the first one 0. */
export class Numbers {
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const fresh = this.#numbers.size;
    this.#numbers.set(text, fresh);
    return fresh;
  }
}

/** Keeps one of equal values. */
export class Values<T> {
  readonly #values = new Map<string, T>();

  /** The value of the text; it is made, with its number, only where there is none. */
  of(text: string, make: (id: number) => T): T {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const fresh = make(this.#values.size);
    this.#values.set(text, fresh);
    return fresh;
  }
}

/** A number of 53 bits from a text (two runs of FNV-1a over its halves): what is remembered of each state. */
export function hashOf(text: string): number {
  let [a, b] = [0x811c9dc5, 0xdeadbeef];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    b ^= b >>> 15;
  }
  a ^= a >>> 13;
  b ^= b >>> 13;
  return (a >>> 0) * 2 ** 21 + ((b >>> 0) & 0x1fffff);
}
