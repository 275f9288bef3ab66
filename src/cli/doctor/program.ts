import type { Command } from 'commander';
import type { StaticPodsFlags } from '../machine/local-node.ts';
import { configOption, examples, type ExitWith, exitCodes, outputOption } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { KubeletShutdownFlags } from './kubelet-shutdown.ts';

/** Adds the commands that check the set-up of this node and correct it. */
export function addDoctor(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  program
    .command('doctor')
    .description('check that this node is set up so that a shutdown waits for its pods')
    .addOption(configOption())
    .addOption(outputOption())
    .addHelpText(...examples('sudo nodemaint doctor', 'sudo nodemaint doctor -o json'))
    .addHelpText(...exitCodes({ 0: 'no check fails; there may be warnings', 1: 'a check fails' }))
    .action(async (flags: StaticPodsFlags) => {
      const { doctorCommand } = await import('./doctor.ts');
      exitWith(await doctorCommand(flags, terminal));
    });

  program
    .command('disable-kubelet-shutdown')
    .summary("switch off the kubelet's own graceful shutdown")
    .description(
      "Switch off the kubelet's own graceful shutdown by a drop-in file, and copy its order of pods into the agent's drain plan.",
    )
    .addOption(configOption())
    .option('--undo', 'remove the drop-in file again')
    .addHelpText(
      ...examples('sudo nodemaint disable-kubelet-shutdown', 'sudo nodemaint disable-kubelet-shutdown --undo'),
    )
    .action(async (flags: KubeletShutdownFlags) => {
      const { kubeletShutdownCommand } = await import('./kubelet-shutdown.ts');
      exitWith(await kubeletShutdownCommand(flags, terminal));
    });
}
