import { type Command, Option } from 'commander';
import { LOG_FORMAT_HELP, LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log-levels.ts';

/** Adds the flags that all programs have which run in a pod until they are stopped (`ServiceFlags`). */
export function addServiceOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log-format <format>', LOG_FORMAT_HELP).choices(LOG_FORMATS));
}
