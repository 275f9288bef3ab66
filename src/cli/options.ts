import { type Command, Option } from 'commander';

/** Adds the flags of every command that goes to a cluster. */
export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, ~/.kube/config, the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig')
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table'),
    );
}
