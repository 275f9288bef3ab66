import type { Command } from 'commander';
import type { ServiceFlags } from '../../kube/service/service.ts';
import { addServiceOptions } from '../../kube/service/options.ts';

/** Adds `nodemaint cluster-api`, which runs until `stop` is aborted. */
export function addClusterApi(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  const command = program
    .command('cluster-api')
    .description('let Cluster API wait with the Machine of a node until its drain is over');
  addServiceOptions(command)
    .addHelpText('after', '\nExamples:\n  nodemaint cluster-api')
    .action(async (flags: ServiceFlags) => {
      const { clusterApiCommand } = await import('./command.ts');
      await clusterApiCommand(flags, stop);
    });
}
