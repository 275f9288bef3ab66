/** Hostile changes of good inputs: of texts byte by byte and piece by piece, of JSON values by their structure. */
import * as fc from 'fast-check';
import type { FuzzInput } from './target.ts';

/** Pieces that parsers stumble over. */
// biome-ignore format: these are many, and short
const TOKENS: readonly string[] = [
  '\0', '\n', '\r\n', '\t', ' ', '"', "'", '\\', '{', '}', '[', ']', ':', ': ', ',', '- ', '#', '&a ', '*a', '<<: *a', '|',
  '>', '!!binary ', '!!js/function ', '%YAML 1.1\n---\n', '---\n', '...', '__proto__', 'constructor', '../', '/etc/passwd',
  '-1', '0', '1e400', '9223372036854775808', '-9223372036854775809', '2147483648', 'NaN', 'Infinity', 'null', 'true', '~',
  '9999-12-31T23:59:59-12:00', '0000-00-00T00:00:00Z', '\u001B[2J', '\u2028', '\uD800', '\uFEFF', '𝒳', 'ä', '0x1p-2', '١٢',
];
const TOKEN = fc.constantFrom(...TOKENS);

// biome-ignore format: one line for each kind
const EDIT = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), text: fc.oneof(TOKEN, fc.string({ unit: 'binary' })) }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(), length: fc.nat({ max: 40 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: fc.nat(), length: fc.nat({ max: 40 }), times: fc.nat({ max: 300 }) }),
  fc.record({ kind: fc.constant('flip' as const), at: fc.nat(), bit: fc.nat({ max: 7 }) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
);
type Edit = typeof EDIT extends fc.Arbitrary<infer T> ? T : never;

const MAX_LENGTH = 256 * 1024;

function edited(text: string, edit: Edit): string {
  const at = edit.at % (text.length + 1);
  switch (edit.kind) {
    case 'insert':
      return text.slice(0, at) + edit.text + text.slice(at);
    case 'delete':
      return text.slice(0, at) + text.slice(at + edit.length);
    case 'repeat':
      return (text.slice(0, at) + text.slice(at, at + edit.length).repeat(edit.times) + text.slice(at)).slice(
        0,
        MAX_LENGTH,
      );
    case 'flip':
      return text.slice(0, at) + String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << edit.bit)) + text.slice(at + 1);
    case 'cut':
      return text.slice(0, at);
  }
}

/** Texts near the seeds: up to a few edits each. */
export function mutatedText(...seeds: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(EDIT, { maxLength: 6 }))
    .map(([seed, edits]) => edits.reduce(edited, seed));
}

/** The same of bytes, as a string in latin1. */
export function mutatedBytes(...seeds: readonly Buffer[]): fc.Arbitrary<string> {
  return mutatedText(...seeds.map((seed) => seed.toString('latin1'))).map((text) =>
    Buffer.from(text, 'latin1').toString('latin1'),
  );
}

const HOSTILE: fc.Arbitrary<FuzzInput> = fc.oneof(
  // biome-ignore format: these are many, and short
  fc.constantFrom<FuzzInput>(null, true, false, 0, -1, 1e13, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 63), 1.5, '', '0', [], {}, [null], [[]]),
  TOKEN,
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom<FuzzInput>(
    'x'.repeat(5_000),
    Array.from({ length: 200 }, () => 'a'),
  ),
);

const CHANGE = fc.record({ path: fc.array(fc.nat(), { maxLength: 6 }), kind: fc.nat({ max: 2 }), value: HOSTILE });
type Change = typeof CHANGE extends fc.Arbitrary<infer T> ? T : never;

function changed(value: FuzzInput, { path, kind, value: hostile }: Change, depth = 0): FuzzInput {
  const pick = path[depth];
  if (typeof value !== 'object' || value === null || pick === undefined) return hostile;
  const entries = Object.entries(value);
  if (entries.length === 0) return hostile;
  const at = pick % entries.length;
  const [key, inner] = entries[at] ?? ['', null];
  const isLast = depth === path.length - 1;
  const rest = (next: FuzzInput | undefined): FuzzInput => {
    const list = entries.flatMap((entry, index): [string, FuzzInput][] => {
      if (index !== at) return [entry];
      return next === undefined ? [] : [[key, next]];
    });
    return Array.isArray(value) ? list.map(([, each]) => each) : Object.fromEntries(list);
  };
  if (!isLast) return rest(changed(inner, { path, kind, value: hostile }, depth + 1));
  return rest(kind === 0 ? undefined : hostile);
}

/** Values near those of `valid`: some of their parts are gone, or something else. */
export function mutatedValue(valid: fc.Arbitrary<FuzzInput>): fc.Arbitrary<FuzzInput> {
  return fc
    .tuple(valid, fc.array(CHANGE, { maxLength: 4 }))
    .map(([value, changes]) => changes.reduce((sum, change) => changed(sum, change), value));
}

/** As text: mostly JSON of such values, some with broken bytes. */
export function mutatedJson(...seeds: readonly FuzzInput[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: mutatedValue(fc.constantFrom(...seeds)).map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: mutatedText(...seeds.map((seed) => JSON.stringify(seed))) },
  );
}
