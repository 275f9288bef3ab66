import type { Command, Option } from 'commander';
import type { KubeObject } from '../../api/meta.ts';
import { NODE_MAINTENANCES, NODES, PODS, type Resource } from '../../kube/resource.ts';
import { withCluster } from '../cluster/cluster.ts';

/** A word that can come next, with its description. */
interface Candidate {
  readonly value: string;
  readonly about: string;
}

/** cobra's ShellCompDirective: nothing special, and no names of files. */
const [NO_DIRECTIVE, NO_FILES] = [0, 4];
/** A list of names that takes longer is left out: the shell waits for it. */
const CLUSTER_MS = 3_000;

const NODES_AND_MAINTENANCES = [
  { resource: NODES, prefix: '' },
  { resource: NODE_MAINTENANCES, prefix: 'nm/' },
];
const NOUNS: ReadonlyMap<string, readonly { readonly resource: Resource; readonly prefix: string }[]> = new Map(
  Object.entries({
    drain: NODES_AND_MAINTENANCES.slice(0, 1),
    cordon: NODES_AND_MAINTENANCES.slice(0, 1),
    uncordon: NODES_AND_MAINTENANCES.slice(0, 1),
    preview: NODES_AND_MAINTENANCES.slice(0, 1),
    complete: NODES_AND_MAINTENANCES,
    status: NODES_AND_MAINTENANCES,
    evict: [{ resource: PODS, prefix: '' }],
  }),
);

interface Line {
  /** Values of flags by their long names. */
  readonly flags: Readonly<Record<string, string>>;
  readonly words: readonly string[];
  /** The flag whose value is the next word. */
  readonly open: Option | undefined;
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(({ short, long }) => word === short || word === long);
}

/** Separates the flags of a line from its other words. */
function readLine(command: Command, words: readonly string[]): Line {
  const flags: Record<string, string> = {};
  const rest: string[] = [];
  let open: Option | undefined;
  for (const word of words) {
    if (open !== undefined) {
      flags[open.long ?? ''] = word;
      open = undefined;
      continue;
    }
    const [name = '', value] = word.split(/=(.*)/s, 2);
    const option = word.startsWith('-') ? optionOf(command, name) : undefined;
    if (option !== undefined && value !== undefined) flags[option.long ?? ''] = value;
    else if (option?.required === true) open = option;
    else if (!word.startsWith('-')) rest.push(word);
  }
  return { flags, words: rest, open };
}

/** Names from the cluster; none where it does not answer, because a shell has no place for an error. */
async function namesFor(verb: string, { flags, words }: Line, signal: AbortSignal): Promise<readonly Candidate[]> {
  const nouns = NOUNS.get(verb) ?? [];
  if (nouns.length === 0) return [];
  const { '--kubeconfig': kubeconfig, '--context': context, '--as': as, '--namespace': namespace } = flags;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(CLUSTER_MS)]);
  try {
    return await withCluster(
      { kubeconfig, context, as },
      'nodemaint-completion',
      { warn: () => undefined },
      async ({ maintenances }) => {
        const lists = nouns.map(async ({ resource, prefix }) => {
          const objects = await maintenances.list<KubeObject>(resource, '', limited);
          const own = objects.filter(
            ({ metadata }) => !resource.namespaced || (namespace ?? 'default') === metadata.namespace,
          );
          return own.map(({ metadata }) => ({ value: prefix + metadata.name, about: resource.plural }));
        });
        return (await Promise.all(lists)).flat().filter(({ value }) => !words.includes(value));
      },
    );
  } catch {
    return [];
  }
}

/** All words that can stand in place of the last one, which may be empty. `root` is the whole command line. */
async function candidates(root: Command, words: readonly string[], signal: AbortSignal): Promise<readonly Candidate[]> {
  const [verb = '', ...rest] = words;
  if (rest.length === 0) {
    // Without those that the help does not show.
    return root
      .createHelp()
      .visibleCommands(root)
      .filter((command) => command.name() !== 'help')
      .map((command) => ({ value: command.name(), about: command.summary() || command.description() }));
  }
  const command = root.commands.find((each) => each.name() === verb);
  if (command === undefined) return [];
  const last = rest.at(-1) ?? '';
  const line = readLine(command, rest.slice(0, -1));
  if (line.open !== undefined) return (line.open.argChoices ?? []).map((value) => ({ value, about: '' }));
  if (last.startsWith('-')) {
    return command.options
      .filter(({ hidden, long }) => !hidden && !(long !== undefined && long in line.flags))
      .map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description }));
  }
  const choices = command.registeredArguments[0]?.argChoices;
  if (choices !== undefined) return choices.map((value) => ({ value, about: '' }));
  return await namesFor(verb, line, signal);
}

/** The output of `nodemaint __complete WORD…`: the fitting words, one line each, in the format of cobra and of kubectl's plugins. */
export async function completeWords(root: Command, words: readonly string[], signal: AbortSignal): Promise<string> {
  const last = words.at(-1) ?? '';
  const found = await candidates(root, words.length === 0 ? [''] : words, signal);
  const fitting = found.filter(({ value }) => value.startsWith(last));
  const lines = fitting.map(({ value, about }) => (about === '' ? value : `${value}\t${about}`));
  return `${[...lines, `:${fitting.length > 0 ? NO_FILES : NO_DIRECTIVE}`].join('\n')}\n`;
}
