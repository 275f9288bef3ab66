/** Makes an input that was found smaller, as long as it goes wrong in the same way. */
import type { FuzzInput } from './target.ts';

/** Each with a part left out: halves first, then smaller and smaller ones. */
function* shorter<T extends string | readonly FuzzInput[]>(whole: T): Generator<T> {
  for (let size = Math.ceil(whole.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < whole.length; from += size) {
      const [before, after] = [whole.slice(0, from), whole.slice(from + size)];
      yield (typeof before === 'string' ? before + String(after) : [...before, ...after]) as T;
    }
  }
}

/** Inputs that are a little smaller than this one. */
function* smaller(input: FuzzInput): Generator<FuzzInput> {
  if (typeof input === 'string') yield* shorter(input);
  if (typeof input !== 'object' || input === null) return;
  if (Array.isArray(input)) {
    const list = input as readonly FuzzInput[];
    yield* shorter(list);
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
