/** What a person is told who writes a command line that this program does not have, in place of a guess. */

/** Flags of `kubectl drain`, and of other commands that people know, with what is used instead. */
const FOREIGN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '--ignore-daemonsets':
      'DaemonSet pods leave too, in their turn, and stay away until "nodemaint complete"; to leave them on the node use --keep daemonsets',
    '--delete-emptydir-data': 'only drain has it',
    '--delete-unmanaged': 'only drain has it',
    '--delete-local-data': 'use --delete-emptydir-data of drain',
    '--grace-period':
      'each pod has its own grace period; a drain with less time is: nodemaint trigger --reason TEXT --deadline TIME, on the node',
    '--disable-eviction':
      'every pod leaves by an EvictionRequest; to go past a PodDisruptionBudget, change the budget or delete the pod',
    '--pod-selector': 'write an entry with podSelector in a drain plan, and use --plan FILE',
    '--skip-wait-for-delete-timeout': 'a pod that does not end is named by "nodemaint status"; nothing is skipped',
    '--chunk-size': 'it is not needed: lists are read in parts',
    '--all': 'select nodes by their labels with -l; an empty selector is refused',
    '--field-selector': 'select nodes by their labels with -l, or by their names',
    '--as': 'only commands that ask the API server have it',
    '--as-group': 'only commands that ask the API server have it',
    '--user': 'name a context of the kubeconfig with --context',
    '--cluster': 'name a context of the kubeconfig with --context',
    '--server': 'name a kubeconfig with --kubeconfig',
    '--token': 'name a kubeconfig with --kubeconfig: a secret on a command line is seen by every user of the machine',
    '--request-timeout': 'use --timeout where a command waits; each request has a limit of its own',
    '--force': 'only uninstall-cluster has it',
    '--now': 'let a held shutdown go on at once with: nodemaint release',
    '--yes': 'only uninstall-cluster asks, and has it',
    '--selector': 'only commands that take nodes have it',
    '-l': 'only commands that take nodes have it',
    '-A': 'this command has no namespaces',
    '--all-namespaces': 'this command has no namespaces',
    '-f': 'write the names on the command line; kubectl apply -f takes a NodeMaintenance',
    '--filename': 'write the names on the command line; kubectl apply -f takes a NodeMaintenance',
    '--follow': 'use --watch',
    '--watch': 'only drain, evict, nodes and status have it',
    '-w': 'only drain, evict, nodes and status have it',
    '--wait': 'drain waits anyway, until every node is drained; --no-wait does not',
    '--no-wait': 'only drain has it',
    '--timeout': 'only commands that watch or wait have it',
    '-v': 'the agent and the controller have logLevel and --log-level',
  }),
);

const PODS_BY_LABEL =
  'name the pods: nodemaint evict -n NAMESPACE $(kubectl get pods -n NAMESPACE -l SELECTOR -o name)';

/** Flags that mean something else where the command takes pods. */
const OF_EVICT: ReadonlyMap<string, string> = new Map(
  ['--all', '-l', '--selector', '--field-selector'].map((flag) => [flag, PODS_BY_LABEL]),
);

/** Flags of `kubectl drain` that mean something else to this drain. */
const OF_DRAIN: ReadonlyMap<string, string> = new Map([
  [
    '--force',
    'to delete pods without a controller, as kubectl does with it, use --delete-unmanaged; to break the quorum of the control plane or of etcd use --break-quorum',
  ],
]);

/** Such flags by the command. */
const OF_COMMAND: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['evict', OF_EVICT],
  ['drain', OF_DRAIN],
]);

/** Output formats of kubectl that have a language of their own. */
const OTHER_OUTPUT =
  /^option '-o, --output <format>' argument '(?:jsonpath|jsonpath-as-json|jsonpath-file|go-template|go-template-file|template|custom-columns|custom-columns-file)\b/;
const OUTPUT_ADVICE =
  'kubectl get nm has it for maintenances; of what this command prints, take -o json and a program such as jq';

/** Commands of other programs, with what is used instead. */
const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    get: 'use "nodemaint nodes" or "nodemaint status"; kubectl get nm lists the maintenances',
    describe: 'use "nodemaint status NAME"; kubectl describe nm NAME shows the events',
    delete: 'use "nodemaint complete NAME --delete"',
    logs: 'use "journalctl -u nodemaint" on the node',
    reboot: 'use "systemctl reboot" on the node: the agent holds it until the pods have left',
    shutdown: 'use "systemctl poweroff" on the node: the agent holds it until the pods have left',
    undrain: 'use "nodemaint complete NODE"',
    install: 'use install.sh of the release, or the package',
    uninstall: 'use "nodemaint uninstall-cluster", and install.sh uninstall on a node',
    list: 'use "nodemaint nodes", "nodemaint history" or "nodemaint static-pods list"',
    park: 'use "nodemaint static-pods park FILE"',
    restore: 'use "nodemaint static-pods restore FILE"',
    help: 'use "nodemaint --help" or "nodemaint COMMAND --help"',
  }),
);

/** The words of a command line that are a command and its subcommand; what comes after the first flag is none. */
function commandOf(argv: readonly string[], known: ReadonlySet<string>): string {
  const [first = ''] = argv;
  return known.has(first) ? `nodemaint ${first} --help` : 'nodemaint --help';
}

/** What is used in place of a flag that this command does not have. */
function flagAdvice(flag: string, [command]: readonly string[]): string | undefined {
  return OF_COMMAND.get(command ?? '')?.get(flag) ?? FOREIGN.get(flag);
}

/**
 * The message of the command line's library about a wrong usage, with what to use instead, and where the help is. `known` are
 * the names of the commands.
 */
export function usageAdvice(message: string, argv: readonly string[], known: ReadonlySet<string>): string {
  const said = message
    .trim()
    .replace(/^error: /, '')
    // The library says this in words of its own.
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. /, "'$1' is no $2. ")
    .replace(/ is invalid\. must/, ': it must');
  const option = /^unknown option '([^'=]+)/.exec(said)?.[1];
  const verb = /^unknown command '([^']+)'/.exec(said)?.[1];
  const advice =
    (option === undefined ? undefined : flagAdvice(option, argv)) ?? (verb === undefined ? undefined : VERBS.get(verb));
  const see = `See: ${commandOf(argv, known)}`;
  if (OTHER_OUTPUT.test(said)) return `nodemaint: ${said}\n${OUTPUT_ADVICE}\n${see}\n`;
  if (advice === undefined) return `nodemaint: ${said}\n${see}\n`;
  // A suggestion of a flag or command with a similar name may do the opposite.
  const [first = ''] = said.split('\n');
  return `nodemaint: ${first}: ${advice}\n${see}\n`;
}
