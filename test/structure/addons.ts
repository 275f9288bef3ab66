import { globSync } from 'node:fs';
import path from 'node:path';
import { importsOf } from './imports.ts';

/** An import of one file by another; both paths from the root of the checkout. */
export interface FileImport {
  readonly from: string;
  readonly to: string;
}

/** What an add-on may import of the core: the APIs, the clients of them, and what is no rule and no effect of the core. */
const OPEN_TO_ADDONS: readonly RegExp[] = [
  /^src\/(?:api|kube|telemetry|config)\//,
  /^src\/(?:errors|printable|version)\.ts$/,
  // A clock is a part of the kit for interceptors.
  /^src\/host\/clock\.ts$/,
  /^src\/decide\/(?:time|json|duration|selector|name-list|pod)\.ts$/,
];

/** The only file outside of an add-on that may name it: the command line, which adds its subcommand. */
const COMMAND_LINE = 'src/cli/program.ts';

/** The add-on to whose source or tests the file belongs; undefined for a file of the core. */
export function addonOf(file: string): string | undefined {
  const [, source, test, flat] =
    /^(?:src\/addons\/([^/]+)\/|test\/[^/]+\/addons\/(?:([^/]+)\/|([^/]+)\.test\.ts$))/.exec(file) ?? [];
  return source ?? test ?? flat;
}

/** The imports that tie the core to an add-on, an add-on to what it must not know, or two add-ons to each other; a sentence each. */
export function forbiddenImports(imports: readonly FileImport[]): readonly string[] {
  return imports.flatMap(({ from, to }) => {
    const [source, target] = [addonOf(from), addonOf(to)];
    if (source === target) return [];
    if (target !== undefined) {
      const isItsCommand = from === COMMAND_LINE && to === `src/addons/${target}/program.ts`;
      return isItsCommand ? [] : [`${from} imports ${to}, which is of the add-on ${target}`];
    }
    const isOpen = from.startsWith('test/') || OPEN_TO_ADDONS.some((each) => each.test(to));
    return isOpen ? [] : [`${from}, which is of the add-on ${source}, imports ${to}`];
  });
}

/** All imports of the source and of the tests of the checkout below `root`. */
export async function fileImports(root: string): Promise<readonly FileImport[]> {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts'], { cwd: root }).map((file) => path.join(root, file));
  const imports = await importsOf(files);
  return imports.map(({ from, to }) => ({ from: path.relative(root, from), to: path.relative(root, to) }));
}
