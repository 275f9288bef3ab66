/** What the project adds up to. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';

/** What is counted. */
export type Total =
  | 'lines in src'
  | 'files in src'
  | 'lines in test'
  | 'words in docs'
  | 'admission policies'
  | 'labels and annotations of our own'
  | 'loops of the controller'
  | 'options of the controller'
  | 'configuration keys'
  | 'commands';

function textsBelow(root: string, pattern: string): readonly string[] {
  return globSync(pattern, { cwd: root }).map((file) => readFileSync(path.join(root, file), 'utf8'));
}

function sumOf(texts: readonly string[], count: (text: string) => number): number {
  return texts.reduce((sum, text) => sum + count(text), 0);
}

function matchesIn(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** The commands that somebody can type, without the ones that only group others. */
function typedCommands(command: Command): readonly Command[] {
  const children = command.commands.filter((each) => each.name() !== 'help');
  return children.length === 0 ? [command] : children.flatMap(typedCommands);
}

/** The keys that a JSON Schema of an object has, those of nested objects counted each. */
function keysOf(schema: unknown): number {
  if (schema === null || typeof schema !== 'object') return 0;
  const { properties } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  if (properties === undefined) return 0;
  return Object.values(properties).reduce<number>((sum, each) => sum + Math.max(1, keysOf(each)), 0);
}

/** Counts what the checkout below `root` has; `program` is its command line, `configuration` the JSON Schema of its files. */
export function totalsOf(root: string, program: Command, configuration: object): Readonly<Record<Total, number>> {
  const source = textsBelow(root, 'src/**/*.ts');
  const lines = (text: string): number => matchesIn(text, /\n/g);
  const own = new Set(source.flatMap((text) => text.match(/nodemaintenance\.x-k8s\.io\/(?!v1)[a-z-]+/g) ?? []));
  const controller = program.commands.find((command) => command.name() === 'controller');
  return {
    'lines in src': sumOf(source, lines),
    'files in src': source.length,
    'lines in test': sumOf(textsBelow(root, 'test/**/*.ts'), lines),
    'words in docs': sumOf(textsBelow(root, 'docs/**/*.md'), (text) => matchesIn(text, /\S+/g)),
    'admission policies': sumOf(textsBelow(root, 'manifests/!(chart)/**/*.yaml'), (text) =>
      matchesIn(text, /^kind: (?:Validating|Mutating)AdmissionPolicy$/gm),
    ),
    'labels and annotations of our own': own.size,
    'loops of the controller': sumOf(textsBelow(root, 'src/controller/**/*.ts'), (text) =>
      matchesIn(text, /^export function \w+Loop\(/gm),
    ),
    'options of the controller': controller?.options.length ?? 0,
    'configuration keys': keysOf(configuration),
    commands: typedCommands(program).filter((command) => !command.name().startsWith('__')).length,
  };
}
