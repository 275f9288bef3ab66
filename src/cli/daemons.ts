/** The commands that run until they are stopped: the agent of a node, and the controller of a cluster. */
import { type Command, Option } from 'commander';
import type { ControllerFlags } from './controller.ts';
import { configOption, examples } from './arguments/options.ts';
import type { Terminal } from './terminal/terminal.ts';

/** The description of --log-format. */
const LOG_FORMAT_HELP = 'how a line of the log is written; default: text at a terminal, else JSON';

/** Adds `nodemaint agent`, and the hidden command by which it reads the facts of its machine. */
export function addAgent(program: Command, terminal: Terminal): void {
  program
    .command('agent')
    .description('run the node agent (systemd unit nodemaint.service)')
    .addOption(configOption())
    .addHelpText(...examples('nodemaint agent --config /etc/nodemaint/config.yaml'))
    .action(async ({ config }: { config: string }) => {
      const { agentCommand } = await import('./agent.ts');
      await agentCommand(config, terminal.stop, terminal.signal);
    });

  program.command('machine-facts', { hidden: true }).action(async () => {
    const { machineFactsCommand } = await import('./machine/facts.ts');
    terminal.write(await machineFactsCommand());
  });
}

function addLeaderOptions(command: Command): Command {
  return command
    .option('--leader-elect <yes>', 'false: work without leader election; default true')
    .option(
      '--leader-elect-lease-duration <time>',
      'another replica leads after this time without a renewal; default 15s',
    )
    .option('--leader-elect-renew-deadline <time>', 'the leader stops after this time without a renewal; default 10s')
    .option('--leader-elect-retry-period <time>', 'time between two renewals of the leader; default 2s');
}

function addLimitOptions(command: Command): Command {
  return command
    .option('--max-parallel-nodes <count>', 'drain at most this many nodes at once; default: no limit')
    .option(
      '--max-parallel-reboots <count>',
      'let at most this many machines reboot at once, a number or a percentage of the nodes; default: 10%',
    )
    .option('--max-evictions-per-node <count>', 'at most this many evictions in flight on a node; default: no limit')
    .option('--max-evictions-per-namespace <count>', 'the same for a namespace; default: no limit')
    .option(
      '--max-eviction-time <time>',
      'an eviction in flight for longer no longer counts against these; 0: it always does; default: 1h',
    )
    .option(
      '--exclude-from-load-balancers',
      'label a node that is drained, so that load balancers of the cloud send it no new connections',
    )
    .option(
      '--max-volume-time <time>',
      'wait at most this long for the volumes of pods that are gone; 0: not at all; default: 7m',
    );
}

/** Adds `nodemaint controller`. */
export function addController(program: Command, terminal: Terminal): void {
  const command = program.command('controller').description("run the cluster's controllers");
  command
    .option('--kubeconfig <file>', 'default: the service account of the pod')
    .addOption(new Option('--log-level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .addOption(new Option('--log-format <format>', LOG_FORMAT_HELP).choices(['text', 'json']))
    .option('--metrics-address <address>', 'address of /metrics, /healthz and /readyz, such as :8080')
    .option('--webhook-port <port>', 'port of the admission webhook; default: no webhook')
    .option(
      '--webhook-host <name>',
      'host name by which API servers call it; default nodemaint-webhook.nodemaint-system.svc',
    )
    .addOption(
      new Option(
        '--webhook-certificate <who>',
        'who makes its certificate: the controller, or another program in the Secret',
      )
        .choices(['self', 'secret'])
        .default('self'),
    );
  addLeaderOptions(command)
    .option(
      '--take-over-timeout <time>',
      "time for a pod's own controller to carry out an eviction that it takes over; default 1m",
    )
    .option(
      '--promise-timeout <time>',
      'ask again after this time for an eviction that was promised in the background; default 10m',
    )
    .option(
      '--promise-words <words...>',
      'words in a 429 that mean such a promise; default "Eviction triggered", "Evacuation in progress"',
    )
    .option('--request-ttl <time>', 'delete a finished EvictionRequest after this time; default 1h');
  addLimitOptions(command)
    .addHelpText(
      ...examples(
        'nodemaint controller --kubeconfig controller.conf --leader-elect=false',
        'nodemaint controller --max-parallel-nodes 2 --exclude-from-load-balancers',
      ),
    )
    .action(async (options: ControllerFlags) => {
      const { controllerCommand } = await import('./controller.ts');
      await controllerCommand(options, terminal.stop);
    });
}
