/** The nodes that a command line names or selects. */
import type { Node } from '../../api/pod.ts';
import { NodemaintError } from '../../errors.ts';
import type { MaintenanceClient } from '../../kube/maintenance/client.ts';
import { NODES } from '../../kube/resource.ts';
import { usage } from '../arguments/parse.ts';
import { formatMaintenance, parseNodes } from '../cluster/cluster.ts';
import { formatObject } from '../terminal/document.ts';
import type { DryRun } from '../arguments/options.ts';
import type { BegunMaintenance } from './begin.ts';

/** Nodes by their names, or by their labels. */
type NodeChoice =
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'selector'; readonly selector: string };

/** What a command line without a target is told. */
export function noTarget(what: string): NodemaintError {
  return usage(`name ${what}, or choose nodes by their labels with -l, such as -l pool=web`);
}

/** What is named, or selected with -l; both together are refused, as kubectl does. Throws USAGE. */
export function parseNodeChoice(names: readonly string[], selector: string | undefined): NodeChoice {
  if (selector === undefined) {
    if (names.length === 0) throw noTarget('a node');
    return { kind: 'names', names: parseNodes(names) };
  }
  if (selector.trim() === '') throw usage('-l must not be empty: it would select every node of the cluster');
  if (names.length > 0) throw usage(`-l ${selector} cannot be used together with names of nodes`);
  return { kind: 'selector', selector };
}

/** The names of the nodes, sorted. Throws USAGE for a selector that matches none, and API_REFUSED for an invalid one. */
export async function chosenNodes(
  client: MaintenanceClient,
  choice: NodeChoice,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (choice.kind === 'names') return choice.names;
  const query = `labelSelector=${encodeURIComponent(choice.selector)}`;
  const nodes = await client.list<Node>(NODES, query, signal);
  if (nodes.length === 0)
    throw new NodemaintError('API_REFUSED', `no node has the labels ${choice.selector}; nothing was done`);
  return nodes.map(({ metadata }) => metadata.name).toSorted();
}

/** How a maintenance began, in the words of kubectl. */
export function begunText({ maintenance, how }: BegunMaintenance, dryRun: DryRun | undefined): string {
  const verb = { created: 'created', changed: 'configured', 'already there': 'unchanged' }[how];
  return `nodemaintenance/${maintenance.metadata.name} ${verb}${dryRunText(dryRun)}`;
}

/** The maintenances as kubectl prints objects: one as itself, several as a List. */
export function formatBegun(begun: readonly BegunMaintenance[], output: 'json' | 'yaml' | 'name'): string {
  const items = begun.map(({ maintenance }) => maintenance);
  if (output === 'name' || items.length === 1) return items.map((each) => formatMaintenance(each, output)).join('');
  return formatObject({ apiVersion: 'v1', kind: 'List', items }, output);
}

/** What follows a sentence of a dry run, as kubectl has it. */
export function dryRunText(dryRun: DryRun | undefined): string {
  return dryRun === undefined ? '' : dryRun === 'server' ? ' (server dry run)' : ' (dry run)';
}
