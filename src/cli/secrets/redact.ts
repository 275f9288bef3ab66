/** Takes secrets out of what leaves a machine. It would rather take out too much. */
import { setImmediate } from 'node:timers/promises';
import { isHarmless, withoutEnvironmentLists, withoutUnitEnvironment } from './environment.ts';
import { CAPITAL_KEY, GONE, KEY, LABEL, MAX_WORD } from './names.ts';
import { RULES } from './rules.ts';

/** Work in pieces: after each one the caller may do something else. Each is as long as a text times one expression. */
type Work<T> = Generator<undefined, T, undefined>;

const MAX_DEPTH = 100;
const SECRET_NAMES = [new RegExp(`^(?:${KEY})$`, 'i'), new RegExp(`^(?:${CAPITAL_KEY})$`)];
const LABEL_ONLY = new RegExp(`^(?:${LABEL})$`);
/** Fields whose values are variables. */
const ENVIRONMENT = /^[\w.-]{0,40}env(?:s|ironment)?$/i;
/** Texts of one word, in which no expression finds anything. */
const PLAIN = /^(?:[A-Z]?[a-z]{0,31}|[A-Z][a-z]{1,15}(?:[A-Z][a-z]{1,15}){0,3}|\d[\dT:.-]{0,31}Z?)$/;
/** A line of a log that ends in JSON, of which the expressions do not see all. */
const JSON_LINE = /^([^{\n]*)(\{.*\})$/gm;
const HAS_LISTS = /\\|env|data|args|command/i;

/** A list or an object in JSON; undefined for everything else. */
function parsedJson(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The same value without any text or number in it. */
function emptied(value: unknown, depth: number): unknown {
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth > MAX_DEPTH) return GONE;
  if (Array.isArray(value)) return value.map((each) => emptied(each, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, emptied(each, depth + 1)]));
}

/** Variables: a list of NAME=value, a list of objects with a value, or an object of names and values. */
function withoutVariables(value: unknown): unknown {
  if (typeof value === 'string') {
    const name = /^([\w.-]{1,253})=/.exec(value)?.[1];
    return name !== undefined && isHarmless(name) ? value : `${name === undefined ? '' : `${name}=`}${GONE}`;
  }
  if (Array.isArray(value)) return value.map(withoutVariables);
  if (typeof value !== 'object' || value === null) return value;
  // What a variable is called, and where its value is from, says no secret.
  if ('name' in value) return 'value' in value && !isHarmless(String(value.name)) ? { ...value, value: GONE } : value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isHarmless(key) ? each : GONE]));
}

/** Whether the value of the field `key` of an object is a secret by its name, or by the fields beside it. */
function isSecret(key: string, value: unknown, object: Readonly<Record<string, unknown>>): boolean {
  if (key.length > 100) return true;
  if (SECRET_NAMES[0]?.test(key) === true) return true;
  if (typeof value !== 'string') return (key === 'data' || key === 'stringData') && object['kind'] === 'Secret';
  if (key === 'value' && !('operator' in object) && !('effect' in object)) {
    const name = object['name'] ?? object['key'];
    return typeof name === 'string' && !isHarmless(name);
  }
  if (LABEL_ONLY.test(value)) return false;
  if (SECRET_NAMES[1]?.test(key) === true) return true;
  return /^keys?$/i.test(key) && !['operator', 'effect', 'value', 'values'].some((each) => each in object);
}

/** The items of a list, in which a flag may stand before its value. */
function* withRedactedItems(list: readonly unknown[], depth: number): Work<unknown> {
  const items: unknown[] = [];
  let flag = '';
  for (const each of list) {
    // The two together are what a person writes on a command line.
    const [before, after] = typeof each === 'string' && flag !== '' ? [`${flag} `, each] : ['', each];
    const pair = before === '' ? undefined : yield* redactedText(before + String(after));
    if (pair !== undefined && pair !== before + String(after)) items.push(GONE);
    else items.push(yield* withRedactedTexts(each, depth));
    flag = typeof each === 'string' && /^--?\w[\w.-]{0,200}$/.test(each) ? each : '';
  }
  return items;
}

/** The same value, whose texts are read as they are meant: with their line breaks, and with JSON in them. */
function* withRedactedTexts(value: unknown, depth: number): Work<unknown> {
  if (depth > MAX_DEPTH) return GONE;
  if (typeof value === 'string') {
    const json = parsedJson(value);
    return json === undefined ? yield* redactedText(value) : JSON.stringify(yield* withRedactedTexts(json, depth + 1));
  }
  if (Array.isArray(value)) return yield* withRedactedItems(value, depth + 1);
  if (typeof value !== 'object' || value === null) return value;
  const entries: (readonly [string, unknown])[] = [];
  const fields = value as Readonly<Record<string, unknown>>;
  for (const [key, each] of Object.entries(fields)) {
    const name = key.length > MAX_WORD ? GONE : yield* redactedText(key);
    const known = ENVIRONMENT.test(key) ? withoutVariables(each) : each;
    entries.push([
      name,
      isSecret(key, each, fields) ? emptied(each, depth) : yield* withRedactedTexts(known, depth + 1),
    ]);
  }
  return Object.fromEntries(entries);
}

function* withRedactedLines(text: string): Work<string> {
  const parts: string[] = [];
  let done = 0;
  for (const found of text.matchAll(JSON_LINE)) {
    const [line, start = '', json = ''] = found;
    const parsed = HAS_LISTS.test(json) ? parsedJson(json) : undefined;
    if (parsed === undefined) continue;
    parts.push(text.slice(done, found.index), start, JSON.stringify(yield* withRedactedTexts(parsed, 0)));
    done = found.index + line.length;
  }
  return parts.join('') + text.slice(done);
}

function* redactedText(text: string): Work<string> {
  if (PLAIN.test(text)) return text;
  let left = withoutUnitEnvironment(withoutEnvironmentLists(yield* withRedactedLines(text)));
  for (const [pattern, by] of RULES) {
    left = typeof by === 'string' ? left.replaceAll(pattern, by) : left.replaceAll(pattern, by);
    yield;
  }
  return left;
}

/** Takes out of the text what looks like a secret, in pieces of work; JSON stays JSON. */
export function* redacting(text: string): Work<string> {
  const json = parsedJson(text);
  return json === undefined
    ? yield* redactedText(text)
    : `${JSON.stringify(yield* withRedactedTexts(json, 0), null, 1)}\n`;
}

/** Work is laid aside after so long, so that a signal to end is seen. */
const PAUSE_AFTER_MS = 20;

/** The text without what looks like a secret; JSON stays JSON. Other work of the process goes on meanwhile. Throws what `signal` says when it is aborted. */
export async function redactedUnless(text: string, signal: AbortSignal): Promise<string> {
  const work = redacting(text);
  let begun = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (performance.now() - begun < PAUSE_AFTER_MS) continue;
    await setImmediate();
    signal.throwIfAborted();
    begun = performance.now();
  }
}
