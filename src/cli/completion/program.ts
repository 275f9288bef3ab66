import { Argument, type Command } from 'commander';
import { examples } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { SHELLS, type Shell } from './scripts.ts';

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('print the completion script of a shell, or that of "kubectl nodemaint"')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      examples('source <(nodemaint completion bash)', 'nodemaint completion kubectl > kubectl_complete-nodemaint'),
    )
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./scripts.ts');
      terminal.write(completionScript(shell, program));
    });
}
