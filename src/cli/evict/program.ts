import type { Command } from 'commander';
import {
  addClusterOptions,
  dryRunOption,
  examples,
  type ExitWith,
  exitCodes,
  watchTimeoutOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { EvictFlags } from './options.ts';

/** Adds the command that requests evictions, withdraws such requests and watches them. */
export function addEvict(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const evict = program
    .command('evict')
    .summary('request that pods leave gracefully')
    .description(
      'Request, by one EvictionRequest for each pod, that pods leave gracefully. Their interceptors act one after the other; the last resort is the Eviction API with its PodDisruptionBudgets.',
    )
    .argument('<pods...>', 'names of pods: NAME or pod/NAME')
    .option('-n, --namespace <name>', 'namespace of the pods; default: the one of the context')
    .option('--requester <name>', 'who requests: a fully qualified domain name', 'cli.nodemaintenance.x-k8s.io')
    .option('-w, --watch', 'say what each pod waits for until every pod has left, and delete the finished requests')
    .addOption(watchTimeoutOption())
    .option('--withdraw', 'withdraw the request; requests of other requesters stay')
    .addOption(dryRunOption());
  addClusterOptions(evict, 'name')
    .addHelpText(...examples('nodemaint evict web-1 -n shop --watch', 'nodemaint evict web-1 --withdraw'))
    .addHelpText(
      ...exitCodes({
        0: 'every eviction is requested or withdrawn; every pod left',
        1: 'failed or canceled for at least one pod',
        3: '--timeout is over',
      }),
    )
    .action(async (pods: readonly string[], flags: EvictFlags) => {
      const { evictCommand } = await import('./evict.ts');
      exitWith(await evictCommand(pods, flags, terminal));
    });
}
