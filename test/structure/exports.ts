import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** What the files of src export. Paths are from the root of the checkout. */
export interface Exports {
  readonly count: number;
  /** Exports that no other file of the source, of the tests or of the build imports: FILE NAME. */
  readonly unused: readonly string[];
  /** Those that only tests import, and that their own file does not use either: FILE NAME. */
  readonly dead: readonly string[];
  /** Names that more than one file exports: NAME, and the files. */
  readonly shared: readonly string[];
}

const EXPORT = /^export (?:async )?(?:function\*?|(?:abstract )?class|const|interface|type|enum) (\w+)/gm;
const NAMED = /(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']+)'/g;
const WHOLE = /(?:import|export) (?:type )?\* (?:as \w+ )?from '(\.[^']+)'/g;
const DYNAMIC = /(?:\{([^{}]*)\} = await )?import\(\s*'(\.[^']+)'\s*\)(?:\.(\w+)\b)?/g;

/** All names of a file. */
const ALL = '*';

/** What this text imports, as FILE NAME. */
function importsIn(file: string, text: string): readonly string[] {
  const from = (target: string): string => path.join(path.dirname(file), target);
  const named = ([, names, target = '']: readonly (string | undefined)[]): readonly string[] =>
    (names ?? ALL)
      .split(',')
      .map(
        (name) =>
          name
            .trim()
            .replace(/^type /, '')
            .split(/ as |:/)[0] ?? '',
      )
      .filter((name) => name !== '')
      .map((name) => `${from(target)} ${name.trim()}`);
  return [
    ...[...text.matchAll(NAMED)].flatMap(named),
    ...[...text.matchAll(WHOLE)].map(([, target = '']) => `${from(target)} ${ALL}`),
    // `import('./x.ts').then(…)` may use each of them; `import('./x.ts').Name` is a type.
    ...[...text.matchAll(DYNAMIC)].flatMap(([, names, target = '', member]) =>
      named([undefined, names ?? (member === 'then' ? undefined : member), target]),
    ),
  ];
}

interface Export {
  readonly file: string;
  readonly name: string;
  /** Whether its own file uses it beside the line that exports it. */
  readonly isUsedInside: boolean;
}

/** What this text exports, each name once. */
function exportsOf(file: string, text: string): readonly Export[] {
  const found = new Set([...text.matchAll(EXPORT)].map(([, name = '']) => name));
  return [...found].map((name) => {
    const isUsedInside = [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
    return { file, name, isUsedInside };
  });
}

function titleOf({ file, name }: Export): string {
  return `${file} ${name}`;
}

/** Reads what is exported and imported in the checkout below `root`. */
export async function measureExports(root: string): Promise<Exports> {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts', '.ci/**/*.ts'], { cwd: root });
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(path.join(root, file), 'utf8')] as const),
  );
  const used = new Set(texts.flatMap(([file, text]) => importsIn(file, text)));
  const shipped = new Set(
    texts.filter(([file]) => !file.startsWith('test/')).flatMap(([file, text]) => importsIn(file, text)),
  );
  const exported = texts.filter(([file]) => file.startsWith('src/')).flatMap(([file, text]) => exportsOf(file, text));
  const isUsed = ({ file, name }: Export, by: ReadonlySet<string>): boolean =>
    by.has(`${file} ${name}`) || by.has(`${file} ${ALL}`);
  const forTests = exported.filter((each) => isUsed(each, used) && !isUsed(each, shipped));
  const byName = Map.groupBy(exported, ({ name }) => name);
  return {
    count: exported.length,
    unused: exported.filter((each) => !isUsed(each, used)).map(titleOf),
    dead: forTests.filter(({ isUsedInside }) => !isUsedInside).map(titleOf),
    shared: [...byName]
      .filter(([, all]) => all.length > 1)
      .map(([name, all]) => [name, ...all.map(({ file }) => file)].join(' ')),
  };
}
