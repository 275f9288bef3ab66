import { type Command, Option } from 'commander';
import type { KubeletShutdownFlags } from './kubelet-shutdown.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { StaticPodsFlags } from '../local-node.ts';

const CONFIG = '/etc/nodemaint/config.yaml';

/** Adds what looks at the set-up of this node and puts it right. */
export function addDoctor(program: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  program
    .command('doctor')
    .description('check that this node is set up so that a shutdown waits for its pods')
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table'))
    .addHelpText(
      'after',
      '\nExit codes:\n  0  nothing fails; warnings may be there\n  1  a check fails\n  2  used wrongly',
    )
    .action(async (flags: StaticPodsFlags) => {
      const { doctorCommand } = await import('./doctor.ts');
      exitWith(await doctorCommand(flags, terminal));
    });

  program
    .command('disable-kubelet-shutdown')
    .description("switch the kubelet's own graceful shutdown off by a drop-in, and take its order over")
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .option('--undo', 'take the drop-in away again')
    .action(async (flags: KubeletShutdownFlags) => {
      const { kubeletShutdownCommand } = await import('./kubelet-shutdown.ts');
      exitWith(await kubeletShutdownCommand(flags, terminal));
    });
}
