/** Makes an input that was found smaller, as long as it goes wrong in the same way. */
import type { FuzzInput } from './target.ts';

/** Where parts can be left out of something of this length: halves first, then smaller and smaller ones. */
function* cuts(length: number): Generator<readonly [from: number, to: number]> {
  for (let size = Math.ceil(length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < length; from += size) yield [from, from + size];
  }
}

/** Inputs that are a little smaller than this one. */
function* smaller(input: FuzzInput): Generator<FuzzInput> {
  if (typeof input === 'string') {
    for (const [from, to] of cuts(input.length)) yield input.slice(0, from) + input.slice(to);
  }
  if (typeof input !== 'object' || input === null) return;
  if (Array.isArray(input)) {
    const list = input as readonly FuzzInput[];
    for (const [from, to] of cuts(list.length)) yield list.toSpliced(from, to - from);
    for (const [index, each] of list.entries()) for (const less of smaller(each)) yield list.with(index, less);
    return;
  }
  const fields = input as Readonly<Record<string, FuzzInput>>;
  for (const key of Object.keys(fields)) {
    yield Object.fromEntries(Object.entries(fields).filter(([each]) => each !== key));
  }
  for (const [key, each] of Object.entries(fields)) for (const less of smaller(each)) yield { ...fields, [key]: less };
}

/** The smallest input that was found to fail, after at most `tries` tries. */
export async function minimalInput(
  input: FuzzInput,
  fails: (input: FuzzInput) => Promise<boolean>,
  tries: number,
): Promise<FuzzInput> {
  let [smallest, left] = [input, tries];
  for (let found = true; found; ) {
    found = false;
    for (const candidate of smaller(smallest)) {
      if (left === 0) return smallest;
      left -= 1;
      if (!(await fails(candidate))) continue;
      smallest = candidate;
      found = true;
      break;
    }
  }
  return smallest;
}
