import { type Command, Option } from 'commander';
import type { ServiceFlags } from '../../kube/service/service.ts';
import { LOG_FORMAT_HELP, LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log-levels.ts';

/** Adds `nodemaint cluster-api`, which runs until `stop` is aborted. */
export function addClusterApi(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  program
    .command('cluster-api')
    .description('let Cluster API wait with the Machine of a node until its drain is over')
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log-format <format>', LOG_FORMAT_HELP).choices(LOG_FORMATS))
    .addHelpText('after', '\nExamples:\n  nodemaint cluster-api')
    .action(async (flags: ServiceFlags) => {
      const { clusterApiCommand } = await import('./command.ts');
      await clusterApiCommand(flags, stop);
    });
}
