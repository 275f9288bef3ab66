import { type Command, Option } from 'commander';
import { LOG_FORMAT_HELP, LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log-levels.ts';
import type { LifecycleFlags } from './command.ts';

/** Adds `nodemaint lifecycle`, which runs until `stop` is aborted. */
export function addLifecycle(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  program
    .command('lifecycle')
    .description('work on Evictions of lifecycle.k8s.io, in place of the controllers that Kubernetes 1.37 has not')
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log-format <format>', LOG_FORMAT_HELP).choices(LOG_FORMATS))
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
