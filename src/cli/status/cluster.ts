import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { drainView, type DrainView } from '../../show/progress/drain-progress.ts';
import { isInProgress } from '../../decide/maintenance/maintenance.ts';
import { nodesOf, resolveTarget } from '../../decide/maintenance/named-target.ts';
import { NodemaintError } from '../../errors.ts';
import type { MaintenanceClient } from '../../kube/maintenance/client.ts';
import type { AccessFlags } from '../cluster/open-user-cluster.ts';
import {
  type ClusterClients,
  formatMaintenance,
  ifAllowed,
  parseTarget,
  type TargetName,
  watchFlags,
  watchTimeout,
  withCluster,
} from '../cluster/cluster.ts';
import { formatObject, formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { followMaintenances } from '../follow/maintenance/follow.ts';
import { drainLines } from '../follow/maintenance/drain-text.ts';
import { readDrainRequests } from '../follow/maintenance/watch.ts';
import { columnsOf, type ObjectOutput, type Terminal } from '../terminal/terminal.ts';
import { overviewTable } from './overview.ts';

/** The flags of `nodemaint status` that are about a cluster. */
export interface ClusterStatusFlags extends AccessFlags {
  readonly output: ObjectOutput;
  readonly watch?: boolean;
  readonly timeout?: string;
}

/** The view of a maintenance at `now`, in milliseconds since the epoch. */
async function readView(
  client: MaintenanceClient,
  { maintenance, nodes }: { readonly maintenance: NodeMaintenance; readonly nodes: readonly string[] },
  now: number,
  signal: AbortSignal,
): Promise<DrainView> {
  const requests = await readDrainRequests(client, nodes, signal);
  const pods: Pod[] = [];
  for (const node of nodes) pods.push(...(await client.podsOn(node, signal)));
  const requestOf = (pod: Pod): EvictionRequest | undefined => requests.get(pod.metadata.uid ?? '');
  return drainView({ maintenance, nodes, pods, requestOf, seen: new Map() }, now);
}

/** All maintenances, and all nodes; no nodes, with a warning, where the person may not list them. */
async function readAll(
  { maintenances: client }: ClusterClients,
  terminal: Terminal,
): Promise<readonly [readonly NodeMaintenance[], readonly Node[]]> {
  const [all, nodes] = await Promise.all([client.maintenances(terminal.stop), ifAllowed(client.nodes(terminal.stop))]);
  if (nodes === undefined) terminal.warn('warning: you may not list nodes: only those are known that a status names\n');
  return [all, nodes ?? []];
}

function nodeLine({ metadata, spec }: Node, maintenances: readonly NodeMaintenance[]): string {
  const open = maintenances.filter(isInProgress).map((each) => `nodemaintenance/${each.metadata.name}`);
  const state = spec?.unschedulable !== true ? 'schedulable' : open.length > 0 ? 'cordoned' : 'cordoned by a person';
  const where = open.length > 0 ? `under maintenance by ${open.join(', ')}` : 'not under maintenance';
  return `node/${metadata.name}  ${state}, ${where}`;
}

function theOnly(name: string, maintenances: readonly NodeMaintenance[]): NodeMaintenance {
  const open = maintenances.filter(isInProgress);
  const [first] = open;
  if (first === undefined) throw new NodemaintError('API_REFUSED', `node/${name} has no maintenance to watch`);
  if (open.length === 1) return first;
  const names = open.map(({ metadata }) => `nm/${metadata.name}`).join(', ');
  throw new NodemaintError('USAGE', `node/${name} has several maintenances; name the one to watch: ${names}`);
}

async function showTarget(
  cluster: ClusterClients,
  target: TargetName,
  flags: ClusterStatusFlags,
  terminal: Terminal,
): Promise<number> {
  const timeoutMs = watchTimeout(flags);
  const client = cluster.maintenances;
  const [all, nodes] = await readAll(cluster, terminal);
  const found = resolveTarget(target, all, nodes);
  if (found.kind === 'failed') throw new NodemaintError('API_REFUSED', found.message);
  if (flags.watch === true) {
    const one = found.kind === 'maintenance' ? found.maintenance : theOnly(target.name, found.maintenances);
    const followed = { maintenance: one, nodes: nodesOf(one, nodes) };
    return await followMaintenances(cluster, [followed], { ...watchFlags(flags), timeoutMs }, terminal);
  }
  if (flags.output === 'name') {
    terminal.write(found.kind === 'node' ? `node/${target.name}\n` : formatMaintenance(found.maintenance, 'name'));
    return EXIT.done;
  }
  const shown = found.kind === 'maintenance' ? [found.maintenance] : found.maintenances.filter(isInProgress);
  const read = (each: NodeMaintenance): Promise<DrainView> =>
    readView(client, { maintenance: each, nodes: nodesOf(each, nodes) }, terminal.now(), terminal.stop);
  const views = await Promise.all(shown.map(read));
  if (flags.output === 'table') {
    if (found.kind === 'node') terminal.write(`${nodeLine(found.node, found.maintenances)}\n`);
    for (const view of views) terminal.draw(drainLines(view, columnsOf(terminal), terminal.now()));
  } else if (found.kind === 'maintenance') {
    for (const view of views) terminal.write(formatDocument('DrainStatus', view, flags.output));
  } else {
    const { metadata, spec } = found.node;
    const node = { node: metadata.name, unschedulable: spec?.unschedulable === true, maintenances: views };
    terminal.write(formatDocument('NodeStatus', node, flags.output));
  }
  return EXIT.done;
}

/**
 * `nodemaint status` from the cluster: a node, a maintenance, or all maintenances. Returns the exit code. Throws USAGE,
 * KUBECONFIG_INVALID, API_UNREACHABLE, and API_REFUSED also where nothing has the name.
 */
export async function clusterStatusCommand(
  name: string | undefined,
  flags: ClusterStatusFlags,
  terminal: Terminal,
): Promise<number> {
  const target = name === undefined ? undefined : parseTarget(name);
  watchTimeout(flags);
  return await withCluster(flags, 'nodemaint-status', terminal, async (cluster) => {
    if (target !== undefined) return await showTarget(cluster, target, flags, terminal);
    const [all, nodes] = await readAll(cluster, terminal);
    if (flags.output === 'name') for (const each of all) terminal.write(formatMaintenance(each, 'name'));
    else if (flags.output === 'table')
      terminal.write(overviewTable(all, nodes, { columns: columnsOf(terminal), now: terminal.now() }));
    else terminal.write(formatObject({ apiVersion: 'v1', kind: 'List', items: all }, flags.output));
    return EXIT.done;
  });
}
