import type { Command } from 'commander';
import { addServiceOptions } from '../../kube/service/options.ts';
import type { SurgeFlags } from './command.ts';

/** Adds `nodemaint surge`, which runs until `stop` is aborted. */
export function addSurge(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  const command = program
    .command('surge')
    .description('run the interceptor that lets a Deployment have another pod before one of its pods is evicted');
  addServiceOptions(command)
    .option('--timeout <time>', 'evict a pod all the same if no other one becomes available in this time', '10m')
    .addHelpText('after', '\nExamples:\n  nodemaint surge --timeout 5m')
    .action(async (flags: SurgeFlags) => {
      const { surgeCommand } = await import('./command.ts');
      await surgeCommand(flags, stop);
    });
}
