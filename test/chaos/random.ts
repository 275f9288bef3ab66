/** A source of random numbers that a seed determines (mulberry32). */
export interface Random {
  /** A whole number of at least 0 and less than `below`. */
  whole(below: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

/** Makes a source; the same seed gives the same numbers. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return { whole, pick: (choices) => choices[whole(choices.length)] ?? choices[0] };
}
