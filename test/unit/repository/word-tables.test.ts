import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** A name whose type takes any text as a key: a constant, a parameter, a field. The compiler refuses such a key of every other type. */
const ANY_KEY =
  /\b(\w+)\??: (?:(?:Readonly|Partial)<)*(?:Record<(?:string|PropertyKey),|\{ (?:readonly )?\[\w+: string\])/gu;
const MADE = /\bconst (\w+) = Object\.fromEntries\(/gu;
const IMPORTED = /^import (?:type )?\{([^}]+)\} from '(\.[^']+)'/gmu;

/**
 * Where an object is asked for a word all the same, and why it may be. What the object inherits is no text, so that a comparison
 * with a text that is none of its own fails.
 */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ['src/cli/check/facts.ts properties[part]', 'the keys are our own'],
  ['src/controller/cache/maintenance-nodes.ts annotations[name]', 'the keys are our own'],
  ['src/controller/cache/maintenances.ts annotations[name]', 'the keys are our own'],
  ['src/controller/webhook/certificate-secret.ts data[key]', 'the keys are our own'],
  ['src/kube/leader/readiness.ts copies[name]', 'after Object.keys'],
  ['src/kube/maintenance/cordon.ts annotations[key]', 'is compared with a text'],
  ['src/decide/static-pod/control-plane-pod.ts labels[label]', 'is compared with a text; the keys are our own'],
  ['src/decide/maintenance/control-plane-members.ts labels[label]', 'the keys are our own'],
  ['src/decide/selector.ts labels[key]', 'after Object.hasOwn'],
]);

/** The names in a text whose keys may be any text. */
function tablesIn(text: string): readonly string[] {
  return [...text.matchAll(ANY_KEY), ...text.matchAll(MADE)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

/** The places where one of the tables is asked for a word that is not written there: NAME[word]. Constants are written. */
function askedFor(text: string, tables: ReadonlySet<string>): readonly string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gmu, '');
  const asked = [...code.matchAll(/(?<!\w)(\w+)(?:\?\.)?\[(?!['"`\d\]]|[A-Z][A-Z0-9_]+\])([^\]\n]+)\]/gu)];
  return asked.flatMap(([, name = '', key = '']) => (tables.has(name) ? [`${name}[${key}]`] : []));
}

/** The tables that a file knows: its own, those that it imports, and the fields of the API's objects. */
function tablesOf(file: string, texts: ReadonlyMap<string, string>, shared: readonly string[]): ReadonlySet<string> {
  const text = texts.get(file) ?? '';
  const imported = [...text.matchAll(IMPORTED)].flatMap(([, names = '', from = '']) => {
    const theirs = tablesIn(texts.get(path.join(path.dirname(file), from)) ?? '');
    return names.split(/[\s,]+/u).filter((name) => theirs.includes(name));
  });
  return new Set([...tablesIn(text), ...imported, ...shared]);
}

describe('objects that are asked for a word', () => {
  it('no object of the source whose keys may be any text is asked for a word from outside: each is a Map, which has only its own words', async () => {
    const files = globSync('src/**/*.ts', { cwd: ROOT });
    const texts = new Map<string, string>();
    for (const file of files) texts.set(file, await readFile(path.join(ROOT, file), 'utf8'));
    const shared = files
      .filter((file) => file.startsWith('src/api/'))
      .flatMap((file) => tablesIn(texts.get(file) ?? ''));
    const found = files.flatMap((file) =>
      askedFor(texts.get(file) ?? '', tablesOf(file, texts, shared)).map((each) => `${file} ${each}`),
    );
    const wrong = [...new Set(found)].filter((each) => !ALLOWED.has(each));
    assert.deepEqual(
      wrong,
      [],
      'ask a Map, or Object.hasOwn first: an object also answers words such as "constructor"',
    );
    for (const [place] of ALLOWED) assert.ok(found.includes(place), `${place} is there no more: take it off the list`);
  });
});
