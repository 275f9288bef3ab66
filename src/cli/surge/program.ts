import { type Command, Option } from 'commander';
import { LOG_LEVELS, examples } from '../options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { SurgeFlags } from './surge.ts';

/** Adds `nodemaint surge`. */
export function addSurge(program: Command, terminal: Terminal): void {
  program
    .command('surge')
    .description('run the interceptor that lets a Deployment have another pod before one of its pods is evicted')
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LOG_LEVELS).default('info'))
    .option('--timeout <time>', 'evict a pod all the same if no other one becomes available in this time', '10m')
    .addHelpText('after', examples('nodemaint surge --timeout 5m'))
    .action(async (flags: SurgeFlags) => {
      const { surgeCommand } = await import('./surge.ts');
      await surgeCommand(flags, terminal.stop);
    });
}
