import type { Command } from 'commander';
import { addServiceOptions } from '../../kube/service/options.ts';
import type { LifecycleFlags } from './command.ts';

/** Adds `nodemaint lifecycle`, which runs until `stop` is aborted. */
export function addLifecycle(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  const command = program
    .command('lifecycle')
    .description('work on Evictions of lifecycle.k8s.io, in place of the controllers that Kubernetes 1.37 has not');
  addServiceOptions(command)
    .option('--take-over-timeout <time>', "time for a pod's own controller to carry out an eviction", '1m')
    .option('--promise-timeout <time>', 'ask again after this time for a promised eviction', '10m')
    .option(
      '--promise-words <words...>',
      'words in a 429 that mean such a promise; default "Eviction triggered", "Evacuation in progress"',
    )
    .addHelpText('after', '\nExamples:\n  nodemaint lifecycle')
    .action(async (flags: LifecycleFlags) => {
      const { lifecycleCommand } = await import('./command.ts');
      await lifecycleCommand(flags, stop);
    });
}
