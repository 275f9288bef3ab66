import { type Command, Option } from 'commander';
import { LOG_FORMAT_HELP, LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log-levels.ts';
import type { SurgeFlags } from './command.ts';

/** Adds `nodemaint surge`, which runs until `stop` is aborted. */
export function addSurge(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  program
    .command('surge')
    .description('run the interceptor that lets a Deployment have another pod before one of its pods is evicted')
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log-format <format>', LOG_FORMAT_HELP).choices(LOG_FORMATS))
    .option('--timeout <time>', 'evict a pod all the same if no other one becomes available in this time', '10m')
    .addHelpText('after', '\nExamples:\n  nodemaint surge --timeout 5m')
    .action(async (flags: SurgeFlags) => {
      const { surgeCommand } = await import('./command.ts');
      await surgeCommand(flags, stop);
    });
}
