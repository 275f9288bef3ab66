import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { KubeClient } from '../../kube/client.ts';
import { NodemaintError } from '../../errors.ts';
import { createMaintenanceClient, type MaintenanceClient } from '../../kube/maintenance/client.ts';
import { parseTimeout, usage } from '../arguments/parse.ts';
import { printable } from '../../printable.ts';
import { type AccessFlags, openUserCluster } from './open-user-cluster.ts';
import { formatObject } from '../terminal/document.ts';
import type { ObjectOutput, OutputFormat, Terminal } from '../terminal/terminal.ts';

/** The flags of every command that reads a cluster. */
export interface ClusterFlags extends AccessFlags {
  readonly output: OutputFormat;
}

/** The flags of every command that changes a maintenance. */
export interface ChangeFlags extends AccessFlags {
  readonly output: ObjectOutput;
}

/** A node or a maintenance as a person names it. */
export interface TargetName {
  /** Absent where it may be either. */
  readonly kind?: 'node' | 'maintenance';
  readonly name: string;
}

/** How kubectl takes and prints the two kinds. */
const KINDS = { node: /^(?:no|nodes?)$/, maintenance: /^(?:nm|nodemaintenances?(?:\.nodemaintenance\.x-k8s\.io)?)$/ };
/** The kind of a maintenance as kubectl writes it with -o name. */
const MAINTENANCE_KIND = 'nodemaintenance.nodemaintenance.x-k8s.io';
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The name of an object, which is given as `text`. Throws USAGE. */
export function nameIn(text: string, name: string): string {
  if (name.length <= 253 && NAME.test(name)) return name;
  throw usage(
    `"${text}" is not a valid name: use lower case letters and digits, with "-" and "." between them, at most 253 characters`,
  );
}

/** NAME, node/NAME or nm/NAME, as kubectl takes and prints them. Throws USAGE. */
export function parseTarget(text: string): TargetName {
  const [word = '', rest] = text.split(/\/(.*)/s, 2);
  const name = rest ?? text;
  const kind =
    rest === undefined ? undefined : (['node', 'maintenance'] as const).find((each) => KINDS[each].test(word));
  if (rest !== undefined && kind === undefined) {
    throw usage(`"${text}" is neither a node nor a NodeMaintenance: write NAME, node/NAME or nm/NAME`);
  }
  return { ...(kind === undefined ? {} : { kind }), name: nameIn(text, name) };
}

/** The names of nodes, each once and sorted: NAME or node/NAME. Throws USAGE. */
export function parseNodes(texts: readonly string[]): readonly string[] {
  const names = texts.map((text) => {
    const { kind, name } = parseTarget(text);
    if (kind === 'maintenance') throw usage(`"${text}" is not a node: write NAME or node/NAME`);
    return name;
  });
  return [...new Set(names)].toSorted();
}

/** The --timeout of a command that watches, in milliseconds; undefined for no limit. Throws USAGE. */
export function watchTimeout(flags: { readonly watch?: boolean; readonly timeout?: string }): number | undefined {
  if (flags.timeout === undefined) return undefined;
  if (flags.watch !== true) throw usage('--timeout needs --watch');
  return parseTimeout(flags.timeout);
}

/** The flags of a command that watches: a progress has no name. Throws USAGE. */
export function watchFlags({ output, ...access }: AccessFlags & { readonly output: ObjectOutput }): ClusterFlags {
  if (output === 'name') throw usage('--watch cannot be used with --output name');
  return { ...access, output };
}

/** A maintenance as kubectl prints an object. */
export function formatMaintenance(maintenance: NodeMaintenance, output: 'json' | 'yaml' | 'name'): string {
  return output === 'name' ? `${MAINTENANCE_KIND}/${maintenance.metadata.name}\n` : formatObject(maintenance, output);
}

/** The clients of the cluster that the flags name. */
export interface ClusterClients {
  readonly client: KubeClient;
  readonly maintenances: MaintenanceClient;
}

/** What is read, or undefined where the person may not read it: what is shown without it is better than nothing. */
export async function ifAllowed<T>(reading: Promise<T>): Promise<T | undefined> {
  return await reading.catch((error: unknown) => {
    if (error instanceof NodemaintError && error.status === 403) return undefined;
    throw error;
  });
}

/** Runs something with the clients of the cluster that the flags name; its warnings go to standard error. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE. */
export async function withCluster<T>(
  flags: AccessFlags,
  userAgent: string,
  terminal: Pick<Terminal, 'warn'>,
  run: (cluster: ClusterClients) => Promise<T>,
): Promise<T> {
  const { client } = await openUserCluster(flags, userAgent);
  try {
    return await run({
      client,
      maintenances: createMaintenanceClient(client, (text) => terminal.warn(`warning: ${printable(text)}\n`)),
    });
  } finally {
    client.close();
  }
}
