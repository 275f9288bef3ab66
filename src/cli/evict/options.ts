import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import { isFullyQualified } from '../../decide/eviction/interceptors.ts';
import { usage } from '../arguments/parse.ts';
import { nameIn, watchFlags, watchTimeout } from '../cluster/cluster.ts';
import { commandLine } from '../cluster/command-line.ts';
import type { AccessFlags } from '../cluster/open-user-cluster.ts';
import type { DryRun } from '../arguments/options.ts';
import type { ObjectOutput } from '../terminal/terminal.ts';

/** The flags of `nodemaint evict` as the command line has them. */
export interface EvictFlags extends AccessFlags {
  readonly namespace?: string;
  readonly requester: string;
  readonly watch?: boolean;
  readonly timeout?: string;
  readonly withdraw?: boolean;
  readonly dryRun?: DryRun | undefined;
  readonly output: ObjectOutput;
}

/** The checked flags and arguments. */
export interface EvictOptions extends Omit<EvictFlags, 'timeout'> {
  /** Names of pods, each once. */
  readonly pods: readonly string[];
  /** Milliseconds; absent for no limit. */
  readonly timeoutMs?: number;
}

/** The requester of a person who names none. */
export const DEFAULT_REQUESTER = 'cli.nodemaintenance.x-k8s.io';

const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const POD_WORDS = new Set(['po', 'pod', 'pods']);
/** The name of a pod as it is given: NAME, or pod/NAME as kubectl takes and prints it. Throws USAGE. */
export function parsePodName(text: string): string {
  const [kind = '', rest] = text.split(/\/(.*)/s, 2);
  const name = rest ?? text;
  if (rest !== undefined && !POD_WORDS.has(kind)) {
    throw usage(`"${text}" is not a pod: write NAME or pod/NAME; only pods can be evicted`);
  }
  return nameIn(text, name);
}

/** Checks the command line. Throws USAGE where it is invalid. */
export function parseEvictOptions(names: readonly string[], flags: EvictFlags): EvictOptions {
  const { timeout: _, ...rest } = flags;
  const pods = [...new Set(names.map(parsePodName))];
  if (flags.namespace !== undefined && (flags.namespace.length > 63 || !NAMESPACE_NAME.test(flags.namespace))) {
    throw usage(
      `--namespace "${flags.namespace}" is not a valid namespace name: use at most 63 lower case letters, digits and "-"`,
    );
  }
  if (!isFullyQualified(flags.requester)) {
    throw usage(`--requester "${flags.requester}" is not a fully qualified domain name such as me.example.com`);
  }
  if (flags.requester === MAINTENANCE_REQUESTER) {
    throw usage(`--requester ${MAINTENANCE_REQUESTER} is reserved for the NodeMaintenance controller`);
  }
  if (flags.dryRun === 'client')
    throw usage('--dry-run=client: only the server can check an eviction; use --dry-run=server');
  const timeoutMs = watchTimeout(flags);
  if (flags.watch === true && (flags.withdraw === true || flags.dryRun !== undefined)) {
    throw usage(`--watch cannot be used with ${flags.withdraw === true ? '--withdraw' : '--dry-run'}`);
  }
  if (flags.watch === true) watchFlags(flags);
  return { ...rest, pods, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** Another command line for the same pods, for people to copy. */
export function commandFor(options: EvictOptions, pods: readonly string[], verb: '--withdraw' | '--watch'): string {
  const flag = (name: string, value: string | undefined): string[] => (value === undefined ? [] : [name, value]);
  const requester = options.requester === DEFAULT_REQUESTER ? undefined : options.requester;
  const own = [...flag('-n', options.namespace), ...flag('--requester', requester), verb];
  return commandLine(options, 'evict', ...pods, ...own);
}
