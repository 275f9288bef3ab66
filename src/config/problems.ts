/** Sentences about values that a configuration may not have, each with the fix. */
import * as z from 'zod';
// By name: by way of `z.core` the agent would load all of the library, with its messages in all languages.
import { toDotPath } from 'zod/v4/core';
import { parseDuration } from '../decide/duration.ts';
import { type ConfigLayer, type ConfigPath, layerOf, placeOf, valueAt } from './layers.ts';

type Issue = z.core.$ZodIssue;

interface Problem {
  readonly path: ConfigPath;
  /** The end of a sentence that begins with the key. */
  readonly text: string;
}

const MAX_SHOWN = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** The number of single characters that must be changed, added or removed (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of one.split('').entries()) {
    const next = [at + 1];
    for (const [index, wanted] of other.split('').entries()) {
      const replaced = (row[index] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The key that was probably meant. */
function similarKey(key: string, known: readonly string[]): string | undefined {
  const lower = key.slice(0, MAX_SHOWN).toLowerCase();
  const near = (name: string): number => distance(lower, name.toLowerCase());
  const best = known.toSorted((one, other) => near(one) - near(other))[0];
  if (best === undefined) return undefined;
  return near(best) <= 2 || (lower.length > 3 && best.toLowerCase().startsWith(lower)) ? best : undefined;
}

/** The schema at a path, without its default. */
function schemaAt(schema: z.core.$ZodType, path: ConfigPath): z.core.$ZodType | undefined {
  let found: z.core.$ZodType | undefined = schema;
  for (const key of [undefined, ...path]) {
    if (found instanceof z.ZodObject && key !== undefined) {
      found = new Map(Object.entries<z.core.$ZodType>(found.shape)).get(String(key));
    } else if (found instanceof z.ZodArray) found = found.element;
    while (found instanceof z.ZodDefault || found instanceof z.ZodPrefault || found instanceof z.ZodExactOptional) {
      found = found.unwrap();
    }
  }
  return found;
}

function unknownKeys({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, schema: z.core.$ZodType): readonly Problem[] {
  const at = schemaAt(schema, path);
  const known = at instanceof z.ZodObject ? Object.keys(at.shape) : [];
  return keys.map((key) => {
    const meant = similarKey(key, known);
    const fix = meant === undefined ? `the keys here are ${known.join(', ')}` : `did you mean "${meant}"?`;
    return { path: [...path, key], text: `there is no such key; ${fix}` };
  });
}

const WANTED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: 'write a text',
    number: 'write a number',
    int: 'write a whole number',
    boolean: 'write true or false',
    array: 'write a list',
    object: 'write keys with values',
    record: 'write keys with values',
  }),
);

function wrongType(expected: string, key: string, value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null) return 'has no value; write one, or remove the key';
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (key.endsWith('Sec')) {
    const fix = ms === undefined ? 'such as 15' : `here ${Math.ceil(ms / 1000)}`;
    return `is ${shown(value)}; write whole seconds as a number without a unit, ${fix}`;
  }
  const quoted = expected === 'string' && typeof value !== 'object' ? ` in quotes: "${JSON.stringify(value)}"` : '';
  return `is ${shown(value)}; ${WANTED.get(expected) ?? `write ${expected}`}${quoted}`;
}

function outOfBounds(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string {
  const isSmall = issue.code === 'too_small';
  const limit = String(isSmall ? issue.minimum : issue.maximum);
  if (issue.origin !== 'string' && issue.origin !== 'array') {
    return `is ${shown(value)}; the ${isSmall ? 'smallest' : 'largest'} value is ${limit}`;
  }
  const unit = issue.origin === 'string' ? 'characters' : 'entries';
  return isSmall ? `is empty; write at least ${limit} of its ${unit}` : `has more than ${limit} ${unit}`;
}

/** What is wrong with a value and what to write, as the end of a sentence that begins with its key. */
export function issueText(issue: Issue, value: unknown): string {
  const key = issue.path.findLast((part) => typeof part === 'string') ?? '';
  if (issue.code === 'invalid_type') return wrongType(issue.expected, key, value);
  if (issue.code === 'invalid_value') return `is ${shown(value)}; write one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small' || issue.code === 'too_big') return outOfBounds(issue, value);
  return issue.code === 'invalid_format' ? `is ${shown(value)}; it ${issue.message}` : issue.message;
}

/** What the schema refuses in the merged content of these files: a line for each value, `FILE:LINE: KEY: sentence`. */
export function describeProblems(
  issues: readonly Issue[],
  schema: z.core.$ZodType,
  content: unknown,
  layers: readonly ConfigLayer[],
): string {
  const problems = issues.flatMap((issue): readonly Problem[] => {
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue, schema);
    return [{ path: issue.path, text: issueText(issue, valueAt(content, issue.path)) }];
  });
  const lines = problems.map(({ path, text }) => {
    const layer = layerOf(layers, path) ?? layerOf(layers, path.slice(0, 1)) ?? layers[0];
    return `${layer === undefined ? '' : `${placeOf(layer, path)}: `}${toDotPath(path)}: ${text}`;
  });
  return lines.join('\n');
}
