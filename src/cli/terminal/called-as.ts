/** The name by which people call the program, which messages to them use. */
import path from 'node:path';

/** How the program was called: by its own name, or as the plugin of kubectl. */
export type ProgramName = 'nodemaint' | 'kubectl nodemaint';

/** Commands that people run where kubectl is; the others belong to a node, where the program has its own name. */
const ANYWHERE = 'check|complete|cordon|drain|evict|nodes|preview|status|uninstall-cluster|version|COMMAND|--help';
const COMMAND = new RegExp(String.raw`(?<!sudo |kubectl |[\w/.-])nodemaint(?=\s+(?:${ANYWHERE})(?![\w-]))`, 'g');
const USAGE = /^(Usage: )nodemaint\b/m;

/**
 * The name by which a person called the program. `file` is what Node.js runs, which is a link where npm has installed it;
 * `calledAs` is what the scripts say that run Node.js.
 */
export function programName(file: string | undefined, calledAs: string | undefined): ProgramName {
  return path.basename(calledAs ?? file ?? '') === 'kubectl-nodemaint' ? 'kubectl nodemaint' : 'nodemaint';
}

/** A text for people, with the commands in it, and the usage of a command, as the person calls the program. */
export function asCalled(text: string, name: ProgramName): string {
  return name === 'nodemaint' ? text : text.replaceAll(COMMAND, name).replace(USAGE, `$1${name}`);
}
