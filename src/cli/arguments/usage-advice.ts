/** What a person is told who writes a command line that this program does not have, in place of a guess. */

const OF_CLUSTER = 'only commands that ask the API server have it';
const IN_KUBECONFIG = 'write it in a kubeconfig, and name that with --kubeconfig';
const SECRET = 'name a kubeconfig with --kubeconfig: a secret on a command line is seen by every user of the machine';
const NO_NAMESPACE =
  'leave it out: nodes and maintenances are in no namespace, and a drain takes the pods of all of them';

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
      'every pod leaves by an EvictionRequest; to go past a PodDisruptionBudget for one pod: nodemaint evict POD --in-spite-of-budget',
    '--pod-selector': 'write an entry with podSelector in a drain plan, and use --plan FILE',
    '--skip-wait-for-delete-timeout': 'a pod that does not end is named by "nodemaint status"; nothing is skipped',
    '--chunk-size': 'it is not needed: lists are read in parts',
    '--all': 'select nodes by their labels with -l; an empty selector is refused',
    '--field-selector': 'select nodes by their labels with -l, or by their names',
    '--as': OF_CLUSTER,
    '--as-group': OF_CLUSTER,
    '--as-uid': 'act as somebody else with --as and --as-group',
    '--as-user-extra': 'act as somebody else with --as and --as-group',
    '--kubeconfig': OF_CLUSTER,
    '--context': OF_CLUSTER,
    '--request-timeout': OF_CLUSTER,
    '-v': `${OF_CLUSTER}; the agent has the key logLevel, and the controller --log-level`,
    '--v': `${OF_CLUSTER}; the agent has the key logLevel, and the controller --log-level`,
    '--vmodule': 'use -v 6 to see the requests, or -v 8 to see also what is in them',
    '--log-flush-frequency': 'leave it out: nothing is kept back',
    '-n': NO_NAMESPACE,
    '--namespace': NO_NAMESPACE,
    '--user': 'name a context of the kubeconfig with --context',
    '--cluster': 'name a context of the kubeconfig with --context',
    '--server': IN_KUBECONFIG,
    '-s': IN_KUBECONFIG,
    '--certificate-authority': IN_KUBECONFIG,
    '--client-certificate': IN_KUBECONFIG,
    '--client-key': IN_KUBECONFIG,
    '--insecure-skip-tls-verify': IN_KUBECONFIG,
    '--tls-server-name': IN_KUBECONFIG,
    '--disable-compression': 'leave it out: answers are not compressed',
    '--cache-dir': 'leave it out: nothing is kept on this machine',
    '--kuberc': 'leave it out: this program does not read a kuberc file',
    '--match-server-version': 'compare them yourself: nodemaint version, and kubectl version',
    '--profile': 'leave it out: this program cannot record a profile',
    '--profile-output': 'leave it out: this program cannot record a profile',
    '--warnings-as-errors':
      'leave it out: warnings are printed on standard error, and the exit code says whether it failed',
    '--token': SECRET,
    '--username': SECRET,
    '--password': SECRET,
    '--force': 'only uninstall-cluster has it',
    '--now': 'let a held shutdown go on at once with: nodemaint release',
    '--yes': 'only release and uninstall-cluster ask, and have it',
    '--selector': 'only commands that take nodes have it',
    '-l': 'only commands that take nodes have it',
    '-A': NO_NAMESPACE,
    '--all-namespaces': NO_NAMESPACE,
    '-f': 'write the names on the command line; kubectl apply -f takes a NodeMaintenance',
    '--filename': 'write the names on the command line; kubectl apply -f takes a NodeMaintenance',
    '--follow': 'use --watch',
    '--watch': 'only drain, evict, nodes and status have it',
    '-w': 'only drain, evict, nodes and status have it',
    '--wait': 'drain waits anyway, until every node is drained; --no-wait does not',
    '--no-wait': 'only drain has it',
    '--timeout': 'only commands that watch or wait have it',
  }),
);

const PODS_BY_LABEL =
  'name the pods: nodemaint evict -n NAMESPACE $(kubectl get pods -n NAMESPACE -l SELECTOR -o name)';

/** Flags that mean something else where the command takes pods. */
const OF_EVICT: ReadonlyMap<string, string> = new Map([
  ...['--all', '-l', '--selector', '--field-selector'].map((flag) => [flag, PODS_BY_LABEL] as const),
  ...['-A', '--all-namespaces'].map(
    (flag) => [flag, 'name the pods of one namespace, and it with -n NAMESPACE'] as const,
  ),
]);

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

/** What is used in place of an output format with a language of its own. */
function outputAdvice(command: string): string {
  const objects = command === 'nodes' ? 'nodes' : command === 'evict' ? 'evreq -n NAMESPACE' : 'nm';
  const what = command === 'nodes' ? 'Node objects' : 'objects';
  return `use another program: nodemaint ${command} … -o json | jq …; or for the ${what} themselves: kubectl get ${objects} -o …`;
}

const OF_KUBECTL = 'kubectl itself has this command';

/** Commands of other programs, with what is used instead. */
const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    get: 'use "nodemaint nodes" or "nodemaint status"; kubectl get nm lists the maintenances',
    describe: 'use "nodemaint status NAME"; kubectl describe nm NAME shows the events',
    delete: 'use "nodemaint complete NAME --delete"',
    logs: 'use "journalctl -u nodemaint" on the node',
    reboot: 'use "systemctl reboot" on the node: the agent holds it until the pods have left',
    poweroff: 'use "systemctl poweroff" on the node: the agent holds it until the pods have left',
    halt: 'use "systemctl halt" on the node: the agent holds it until the pods have left',
    shutdown: 'use the command "shutdown" itself on the node: the agent holds a shutdown until the pods have left',
    undrain: 'use "nodemaint complete NODE"',
    annotate: OF_KUBECTL,
    label: OF_KUBECTL,
    taint: OF_KUBECTL,
    patch: OF_KUBECTL,
    edit: OF_KUBECTL,
    apply: OF_KUBECTL,
    wait: 'use "nodemaint status NODE --watch"; kubectl wait --for=condition=Drained nm/NAME waits too',
    install: 'use install.sh of the release, or the package',
    uninstall: 'use "nodemaint uninstall-cluster", and install.sh uninstall on a node',
    list: 'use "nodemaint nodes", "nodemaint history" or "nodemaint static-pods list"',
    park: 'use "nodemaint static-pods park FILE"',
    restore: 'use "nodemaint static-pods restore FILE"',
    help: 'use "nodemaint --help" or "nodemaint COMMAND --help"',
  }),
);

/** The names of the commands, and the flags of each. */
type FlagsOfCommands = ReadonlyMap<string, ReadonlySet<string>>;

/** The help of the command that a command line names. */
function commandOf(argv: readonly string[], known: FlagsOfCommands): string {
  const [first = ''] = argv;
  return known.has(first) ? `nodemaint ${first} --help` : 'nodemaint --help';
}

/** What is used in place of a flag that this command does not have. */
function flagAdvice(flag: string, argv: readonly string[], known: FlagsOfCommands): string | undefined {
  const [command = ''] = argv;
  if (known.get(command)?.has(flag) === true) return 'it takes no value: write it, or leave it out';
  if (command.startsWith('-')) {
    const foreign = argv.find((word) => VERBS.has(word) && !known.has(word));
    return VERBS.get(foreign ?? '') ?? 'flags stand after the command, as in: nodemaint status --context NAME';
  }
  return OF_COMMAND.get(command)?.get(flag) ?? FOREIGN.get(flag);
}

/** The same for the flags that the library has not come to, so that a person need not try again for each. */
function furtherFlags(argv: readonly string[], first: string, known: FlagsOfCommands): readonly string[] {
  const own = known.get(argv[0] ?? '');
  const others = argv.filter((word) => /^--[a-z]/.test(word)).map((word) => word.replace(/=.*/s, ''));
  return [...new Set(others)].flatMap((flag) => {
    const advice = flag === first || own === undefined || own.has(flag) ? undefined : flagAdvice(flag, argv, known);
    return advice === undefined ? [] : [`nodemaint: unknown option '${flag}': ${advice}`];
  });
}

/**
 * The message of the command line's library about a wrong usage, with what to use instead, and where the help is.
 */
export function usageAdvice(message: string, argv: readonly string[], known: FlagsOfCommands): string {
  const said = message
    .trim()
    .replace(/^error: /, '')
    // The library says this in words of its own.
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. /, "'$1' is no $2. ")
    .replace(/ is invalid\. must/, ': it must');
  const option = /^unknown option '([^'=]+)/.exec(said)?.[1];
  const verb = /^unknown command '([^']+)'/.exec(said)?.[1];
  const advice =
    (option === undefined ? undefined : flagAdvice(option, argv, known)) ??
    (verb === undefined ? undefined : VERBS.get(verb));
  const see = `See: ${commandOf(argv, known)}`;
  if (OTHER_OUTPUT.test(said)) return `nodemaint: ${said}\n${outputAdvice(argv[0] ?? '')}\n${see}\n`;
  if (advice === undefined) return `nodemaint: ${said}\n${see}\n`;
  // A suggestion of a flag or command with a similar name may do the opposite.
  const [first = ''] = said.split('\n');
  const more = option === undefined ? [] : furtherFlags(argv, option, known);
  return `${[`nodemaint: ${first}: ${advice}`, ...more, see].join('\n')}\n`;
}
