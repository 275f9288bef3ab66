import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { judgeControlPlane } from '../../decide/maintenance/control-plane-guard.ts';
import { isControlPlane, membersOfControlPlane } from '../../decide/maintenance/control-plane-members.ts';
import { isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { decideMaintenanceStep, type MaintenanceIntent } from '../../decide/maintenance/new-maintenance.ts';
import { NodemaintError } from '../../errors.ts';
import { hasCode } from '../../kube/connection-loss.ts';
import { PODS } from '../../kube/resource.ts';
import type { MaintenanceClient } from '../../kube/maintenance/client.ts';
import { readDrainPlan } from './plan-file.ts';
import type { DryRun } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** A maintenance that has begun, and how. */
export interface BegunMaintenance {
  readonly maintenance: NodeMaintenance;
  readonly nodes: readonly Node[];
  readonly how: 'created' | 'changed' | 'already there';
}

/** The flags of a command that begins a maintenance. */
export interface BeginFlags {
  readonly plan?: string;
  readonly reason?: string;
  readonly name?: string;
  readonly dryRun?: DryRun | undefined;
  readonly selector?: string;
  /** Drains even nodes that the control plane needs. */
  readonly breakQuorum?: boolean;
}

/** The nodes to maintain, and the stage to reach. */
interface BeginTarget {
  readonly nodes: readonly string[];
  readonly stage: 'Cordon' | 'Drain';
}

const MAX_TRIES = 5;
const ROLE_PREFIX = 'node-role.kubernetes.io/';

/** The nodes of the names. Throws API_REFUSED, which names those that do not exist. */
async function findNodes(
  client: MaintenanceClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly Node[]> {
  const found = await Promise.all(names.map((name) => client.findNode(name, signal)));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) {
    const list = missing.map((name) => `"${name}"`).join(', ');
    throw new NodemaintError('API_REFUSED', `nodes ${list} not found; nothing was done`);
  }
  return found.filter((node) => node !== undefined);
}

function warnOfOthers(
  own: NodeMaintenance,
  all: readonly NodeMaintenance[],
  nodes: readonly Node[],
  terminal: Terminal,
): void {
  for (const other of all) {
    if (other.metadata.name === own.metadata.name || !isInProgress(other)) continue;
    const shared = nodes.filter((node) => selectsNode(other, node)).map(({ metadata }) => `node/${metadata.name}`);
    if (shared.length === 0) continue;
    const is = `nodemaintenance/${other.metadata.name} (${stageOf(other)}) also covers ${shared.join(', ')}`;
    terminal.warn(`warning: ${is}: pods leave once both drains have reached them\n`);
  }
}

/** The pods of the members of the control plane, by their node; none of those that the person may not list. */
async function podsOfMembers(
  client: MaintenanceClient,
  members: readonly Node[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Pod[]>> {
  const podsOf = async ({ metadata: { name } }: Node): Promise<readonly Pod[]> => {
    const query = new URLSearchParams({ fieldSelector: `spec.nodeName=${name}` }).toString();
    return await client.list<Pod>(PODS, query, signal).catch((error: unknown) => {
      // The controller judges the drain by them in any case.
      if (hasCode(error, 'API_REFUSED')) return [];
      throw error;
    });
  };
  return new Map(await Promise.all(members.map(async (node) => [node.metadata.name, await podsOf(node)] as const)));
}

/** Why draining these nodes harms the control plane; undefined where it does not, or none of them is part of it. */
export async function controlPlaneHarm(
  client: MaintenanceClient,
  leaving: readonly Node[],
  maintenances: readonly NodeMaintenance[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const hasRole = ({ metadata }: Node): boolean =>
    Object.keys(metadata.labels ?? {}).some((label) => label.startsWith(ROLE_PREFIX));
  if (!leaving.some(hasRole)) return undefined;
  const nodes = await client.nodes(signal);
  const draining = maintenances.filter((each) => stageOf(each) === 'Drain');
  const away = nodes.filter((node) => draining.some((each) => selectsNode(each, node)));
  const names = (list: readonly Node[]): ReadonlySet<string> => new Set(list.map(({ metadata }) => metadata.name));
  const pods = await podsOfMembers(client, nodes.filter(isControlPlane), signal);
  const members = membersOfControlPlane(nodes, (node) => pods.get(node) ?? []);
  const verdict = judgeControlPlane(members, names(leaving), names(away));
  return verdict.kind === 'unsafe' ? verdict.message : undefined;
}

/** Creates or changes the maintenance; undefined where another client was faster. A dry run of the client asks for nothing. */
async function takeStep(
  client: MaintenanceClient,
  step: Exclude<ReturnType<typeof decideMaintenanceStep>, { kind: 'refused' }>,
  dryRun: DryRun | undefined,
  signal: AbortSignal,
): Promise<NodeMaintenance | undefined> {
  switch (step.kind) {
    case 'already':
      return step.known;
    case 'create':
      return dryRun === 'client'
        ? step.maintenance
        : await client.create(step.maintenance, dryRun === 'server', signal);
    case 'change': {
      const { known, change } = step;
      if (dryRun === 'client') return { ...known, spec: { ...known.spec, ...change.spec } };
      return await client.change(known, change, dryRun === 'server', signal);
    }
  }
}

/**
 * Creates the maintenance, or moves an existing one on. Throws USAGE for an invalid plan, API_REFUSED where a node does not
 * exist or the server refuses.
 */
export async function beginMaintenance(
  client: MaintenanceClient,
  { nodes: names, stage }: BeginTarget,
  flags: BeginFlags,
  terminal: Terminal,
): Promise<BegunMaintenance> {
  const signal = terminal.stop;
  const plan: readonly DrainPlanEntry[] | undefined =
    flags.plan === undefined ? undefined : await readDrainPlan(flags.plan, signal);
  const nodes = await findNodes(client, names, signal);
  const intent: MaintenanceIntent = {
    nodes: names,
    stage,
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(plan === undefined ? {} : { plan }),
    ...(flags.breakQuorum === true ? { force: true } : {}),
  };
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const all = await client.maintenances(signal);
    const step = decideMaintenanceStep(intent, all);
    if (step.kind === 'refused') throw new NodemaintError('API_REFUSED', step.message);
    const harm = stage === 'Drain' && tries === 0 ? await controlPlaneHarm(client, nodes, all, signal) : undefined;
    if (harm !== undefined) {
      if (flags.breakQuorum !== true)
        throw new NodemaintError(
          'API_REFUSED',
          `${harm}; nothing was done; to drain it all the same, use --break-quorum`,
        );
      terminal.warn(`warning: ${harm}\n`);
    }
    const done = await takeStep(client, step, flags.dryRun, signal);
    // Another client changed it since it was read: try again.
    if (done === undefined) continue;
    warnOfOthers(done, all, nodes, terminal);
    const how = ({ create: 'created', change: 'changed', already: 'already there' } as const)[step.kind];
    return { maintenance: done, nodes, how };
  }
  throw new NodemaintError('API_REFUSED', 'the maintenances of these nodes keep changing; try again');
}
