import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { NodemaintError } from '../errors.ts';
import type { LogLevel } from '../telemetry/log.ts';
import { addMaintenanceCommands } from './maintenance/program.ts';
import { addClusterOptions } from './options.ts';
import type { StatusFlags } from './status/status.ts';
import { addConfig } from './config/program.ts';
import { addDoctor } from './doctor/program.ts';
import { addStaticPods } from './static-pods/program.ts';
import type { Terminal } from './terminal/terminal.ts';
import { addEvict } from './evict/program.ts';
import { addCompletion } from './completion/program.ts';
import { addUninstall } from './uninstall/program.ts';

const RUN_DIRECTORY = '/run/nodemaint';
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('must not be empty');
  return text;
}

function runDirectory(): Option {
  return new Option('--run-directory <folder>', "the agent's runDirectory").default(RUN_DIRECTORY);
}

/** The command line; each verb loads its own part of the program when it runs. */
function createProgram(terminal: Terminal, exitWith: (code: number) => void): Command {
  const program = new Command('nodemaint')
    .description("Makes a Kubernetes node's shutdown wait for its applications.")
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        terminal.write(text);
      },
      writeErr: (text) => {
        terminal.warn(text);
      },
    });

  program
    .command('agent')
    .description('run the node daemon (systemd unit nodemaint.service)')
    .option('--config <file>', 'configuration file', '/etc/nodemaint/config.yaml')
    .action(async ({ config }: { config: string }) => {
      const { agentCommand } = await import('./agent.ts');
      await agentCommand(config, terminal.stop, terminal.signal);
    });

  program.command('machine-facts', { hidden: true }).action(async () => {
    const { machineFactsCommand } = await import('./agent.ts');
    terminal.write(await machineFactsCommand());
  });

  program
    .command('controller')
    .description("run the cluster's controllers")
    .option('--kubeconfig <file>', 'kubeconfig; default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(LEVELS).default('info'))
    .option('--metrics-address <address>', 'where /metrics, /healthz and /readyz are served, such as :8080')
    .option('--webhook-port <port>', 'where the admission webhook for times is served; nowhere without it')
    .option(
      '--webhook-host <name>',
      'by which name API servers call it; default nodemaint-webhook.nodemaint-system.svc',
    )
    .option('--leader-elect <yes>', 'false works without asking who leads; default true')
    .option('--leader-elect-lease-duration <time>', 'without a renewal for so long another replica leads; default 15s')
    .option('--leader-elect-renew-deadline <time>', 'a leader that cannot renew for so long stops; default 10s')
    .option('--leader-elect-retry-period <time>', 'the leader renews so often; default 2s')
    .option('--namespace <name>', "the controller's own namespace; default nodemaint-system")
    .option('--take-over-timeout <time>', "a pod's controller has so long for an eviction it takes over; default 1m")
    .option(
      '--promise-timeout <time>',
      'an eviction promised in the background is asked for again after it; default 10m',
    )
    .option('--promise-words <words...>', 'words in a 429 that are a promise; default "Eviction triggered"')
    .option('--request-ttl <time>', 'a finished EvictionRequest is kept so long; default 1h')
    .option('--max-parallel-nodes <count>', 'at most so many nodes are drained at once')
    .option('--max-evictions-per-node <count>', 'a maintenance has at most so many evictions in flight on a node')
    .option('--max-evictions-per-namespace <count>', 'the same for a namespace')
    .action(async (options: { kubeconfig?: string; logLevel: LogLevel }) => {
      const { controllerCommand } = await import('./controller.ts');
      await controllerCommand(options, terminal.stop);
    });

  addClusterOptions(program.command('status'))
    .description("show this machine's phase, lock and what it waits for; or a node, a maintenance or all of a cluster")
    .argument('[name]', 'node or maintenance: NAME, node/NAME or nm/NAME; default: this machine, or all maintenances')
    .option('-w, --watch', 'show the progress until every node is drained')
    .option('--timeout <time>', 'watch at most so long, such as 90s, 20m or 1h30m; 0 for ever')
    .addOption(runDirectory())
    .action(async (name: string | undefined, options: StatusFlags) => {
      const { statusOf } = await import('./status/status.ts');
      exitWith(await statusOf(name, options, terminal));
    });

  program
    .command('trigger')
    .description("announce a shutdown to this machine's agent: the node is drained")
    .requiredOption('--reason <text>', 'why, for people', nonEmpty)
    .option('--deadline <time>', 'when the machine is gone, from now, such as 90s: grace periods are shortened to fit')
    .addOption(runDirectory())
    .action(async (options: { reason: string; deadline?: string; runDirectory: string }) => {
      const { triggerCommand } = await import('./shutdown/trigger.ts');
      terminal.write(await triggerCommand(options.runDirectory, options.reason, options.deadline));
    });

  program
    .command('cancel')
    .description('take an announced shutdown back')
    .addOption(runDirectory())
    .action(async (options: { runDirectory: string }) => {
      const { cancelCommand } = await import('./shutdown/trigger.ts');
      terminal.write(await cancelCommand(options.runDirectory));
    });

  program
    .command('release')
    .description('let a shutdown that is under way go on at once, with pods still there')
    .option('--reason <text>', 'why, for people', 'an operator asked for it')
    .addOption(runDirectory())
    .action(async (options: { reason: string; runDirectory: string }) => {
      const { releaseCommand } = await import('./shutdown/release.ts');
      terminal.write(await releaseCommand(options.runDirectory, nonEmpty(options.reason), terminal.signal));
    });

  program
    .command('demo')
    .description('show the main job in a sandbox folder, without a cluster and without root')
    .action(async () => {
      const { demoCommand } = await import('./demo/demo.ts');
      await demoCommand(terminal, terminal.stop);
    });

  addDoctor(program, terminal, exitWith);
  addConfig(program, terminal);
  addEvict(program, terminal, exitWith);
  addStaticPods(program, terminal, exitWith);
  addMaintenanceCommands(program, terminal, exitWith);
  addCompletion(program, terminal);
  addUninstall(program, terminal, exitWith);
  return program;
}

/**
 * Runs the command line. Returns the exit code: 0 done, 1 failed, 2 used wrongly or badly configured, and what a verb has
 * of its own. Errors that a
 * person can act on come out as one message, others with their causes.
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode = 0;
  const exitWith = (code: number): void => {
    exitCode = code;
  };
  try {
    await createProgram(terminal, exitWith).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (terminal.signal.aborted) return 1;
    if (!(error instanceof NodemaintError)) throw error;
    terminal.warn(`nodemaint: ${error.message}\n`);
    return error.code === 'CONFIG_INVALID' || error.code === 'USAGE' ? 2 : 1;
  }
}
