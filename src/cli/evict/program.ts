import { Command, Option } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';
import type { EvictFlags } from './options.ts';

export function addEvict(program: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  program
    .command('evict')
    .summary('ask that pods leave gracefully, and watch them go')
    .description(
      'Ask, through an EvictionRequest for each pod, that pods leave gracefully: their interceptors are asked in turn, and the Eviction API with its PodDisruptionBudgets is the last resort.',
    )
    .argument('<pods...>', 'names of pods: NAME or pod/NAME')
    .option('-n, --namespace <name>', "namespace of the pods; default: the context's")
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, ~/.kube/config, the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--requester <name>', 'who asks, a fully qualified domain name', 'cli.nodemaintenance.x-k8s.io')
    .option('-w, --watch', 'show the progress until every pod has left; take a finished request away')
    .option('--timeout <time>', 'watch at most so long, such as 90s, 20m or 1h30m; 0 for ever')
    .option('--withdraw', 'take the wish back; the wishes of others stay')
    .option('--dry-run', 'let the server check everything and change nothing')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table'))
    .addHelpText('after', EVICT_EXIT_CODES)
    .action(async (pods: readonly string[], flags: EvictFlags) => {
      const { evictCommand } = await import('./evict.ts');
      exitWith(await evictCommand(pods, flags, terminal));
    });
}
export const EVICT_EXIT_CODES = `
Exit codes:
  0  every pod was asked to leave (or the wish taken back); with --watch: every pod has left
  1  failed for at least one pod, or canceled, or interrupted
  2  used wrongly
  3  --timeout is over`;
