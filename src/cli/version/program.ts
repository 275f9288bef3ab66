import process from 'node:process';
import { type Command, Option } from 'commander';
import { commit, VERSION } from '../../version.ts';
import { examples } from '../arguments/options.ts';
import { formatDocument } from '../terminal/document.ts';
import type { Terminal } from '../terminal/terminal.ts';

type Output = 'text' | 'json' | 'yaml';

/** Adds the command that prints the version of this program, the commit where it was built from one, and that of Node.js. */
export function addVersion(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version of this program; "nodemaint nodes" and "nodemaint check" show those of a cluster')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'yaml']).default('text'))
    .addHelpText(...examples('nodemaint version', 'nodemaint version -o json'))
    .action(({ output }: { readonly output: Output }) => {
      const own = { version: VERSION, commit: commit(), node: process.versions.node };
      const text = `nodemaint ${own.version}${own.commit === '' ? '' : ` (commit ${own.commit})`}, Node.js ${own.node}\n`;
      terminal.write(output === 'text' ? text : formatDocument('Versions', { client: own }, output));
    });
}
