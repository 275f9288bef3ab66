import type { DrainPlanEntry, KeptPods, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { judgeControlPlane, nodesTaken } from '../../decide/maintenance/control-plane-guard.ts';
import { goesDownUncounted } from '../../decide/presence/presence.ts';
import { isControlPlane, membersOfControlPlane } from '../../decide/maintenance/control-plane-members.ts';
import { isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { decideMaintenanceStep, type MaintenanceIntent } from '../../decide/maintenance/new-maintenance.ts';
import { keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { type Consent, flagOfLoss, keepPodsOf, missingConsent } from '../../decide/kept-pods/consent.ts';
import { NodemaintError } from '../../errors.ts';
import type { MaintenanceClient } from '../../kube/maintenance/client.ts';
import { ifAllowed } from '../cluster/cluster.ts';
import { readDrainPlan } from './plan-file.ts';
import type { DryRun } from '../arguments/options.ts';
import { usage } from '../arguments/parse.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** A maintenance that has begun, and how. */
export interface BegunMaintenance {
  readonly maintenance: NodeMaintenance;
  /** Their names. */
  readonly nodes: readonly string[];
  readonly how: 'created' | 'changed' | 'already there';
}

/** The flags of a command that begins a maintenance. */
export interface BeginFlags {
  readonly plan?: string;
  readonly reason?: string;
  readonly name?: string;
  /** One maintenance for all nodes. */
  readonly together?: boolean;
  readonly dryRun?: DryRun | undefined;
  readonly selector?: string;
  /** The kinds of pods that stay. */
  readonly keep?: readonly KeptPods[];
  readonly deleteUnmanaged?: boolean;
  readonly deleteEmptydirData?: boolean;
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
    const both = stageOf(own) === 'Drain' && stageOf(other) === 'Drain';
    terminal.warn(`warning: ${is}${both ? ': pods leave once both drains have reached them' : ''}\n`);
  }
}

/** The pods of the members of the control plane, by their node; none of those that the person may not list. */
async function podsOfMembers(
  client: MaintenanceClient,
  members: readonly Node[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Pod[]>> {
  // The controller judges the drain by them in any case.
  const podsOf = async (node: string): Promise<readonly Pod[]> => (await ifAllowed(client.podsOn(node, signal))) ?? [];
  return new Map(await Promise.all(members.map(async ({ metadata: { name } }) => [name, await podsOf(name)] as const)));
}

/** Why draining these nodes harms the control plane; undefined where it does not, or none of them is part of it. */
export async function controlPlaneHarm(
  client: MaintenanceClient,
  { leaving, keep }: { readonly leaving: readonly Node[]; readonly keep: readonly KeptPods[] },
  maintenances: readonly NodeMaintenance[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const hasRole = ({ metadata }: Node): boolean =>
    Object.keys(metadata.labels ?? {}).some((label) => label.startsWith(ROLE_PREFIX));
  if (!leaving.some(hasRole)) return undefined;
  const nodes = await client.nodes(signal);
  const draining = maintenances.filter((each) => stageOf(each) === 'Drain');
  const names = (list: readonly Node[]): readonly string[] => list.map(({ metadata }) => metadata.name);
  const pods = await podsOfMembers(client, nodes.filter(isControlPlane), signal);
  const goesDown = (node: Node): boolean => goesDownUncounted(node, maintenances, Date.now());
  const members = membersOfControlPlane(nodes, (node) => pods.get(node) ?? [], goesDown);
  const away = draining.flatMap((each) => {
    const own = nodes.filter((node) => selectsNode(each, node));
    return [...nodesTaken(members, names(own), keptBy(each))];
  });
  const verdict = judgeControlPlane(members, nodesTaken(members, names(leaving), keep), new Set(away));
  return verdict.kind === 'unsafe' ? verdict.message : undefined;
}

/** What the flags say about the pods of a drain. */
function consentOf({ keep = [], deleteUnmanaged = false, deleteEmptydirData = false }: BeginFlags): Consent {
  const lose = [
    ...(deleteUnmanaged ? (['Unmanaged'] as const) : []),
    ...(deleteEmptydirData ? (['EmptyDir'] as const) : []),
  ];
  const both = lose.find((loss) => keep.includes(loss));
  if (both !== undefined) throw usage(`${flagOfLoss(both)} cannot be used with --keep ${both.toLowerCase()}`);
  return { keep, lose };
}

/** Whether the step lets a drain begin that has not begun yet. */
function beginsDrain(step: ReturnType<typeof decideMaintenanceStep>): boolean {
  return step.kind === 'create' || (step.kind === 'change' && step.change.spec?.stage === 'Drain');
}

/** Refuses a drain with which something would be lost that nobody has agreed to lose. Throws API_REFUSED. */
async function assertConsent(
  client: MaintenanceClient,
  nodes: readonly Node[],
  consent: Consent,
  signal: AbortSignal,
): Promise<void> {
  if (keepPodsOf({ keep: [], lose: consent.lose }).length === 0) return;
  const lists = await Promise.all(nodes.map(({ metadata }) => client.podsOn(metadata.name, signal)));
  const missing = missingConsent(lists.flat(), consent);
  if (missing !== undefined) throw new NodemaintError('API_REFUSED', `${missing}; nothing was done`);
}

/** What a command wants of some nodes. Throws USAGE. */
async function intentOf(
  { nodes, stage }: BeginTarget,
  flags: BeginFlags,
  consent: Consent,
  signal: AbortSignal,
): Promise<MaintenanceIntent> {
  const plan: readonly DrainPlanEntry[] | undefined =
    flags.plan === undefined ? undefined : await readDrainPlan(flags.plan, signal);
  return {
    nodes,
    stage,
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(plan === undefined ? {} : { plan }),
    ...(stage === 'Drain' ? { consent } : {}),
    ...(flags.breakQuorum === true ? { force: true } : {}),
  };
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

/** The nodes of the whole command, and what its flags say. */
interface BeginContext {
  readonly nodes: readonly Node[];
  readonly consent: Consent;
  readonly flags: BeginFlags;
}

/** Creates a maintenance, or moves an existing one on. Throws API_REFUSED. */
async function beginOne(
  client: MaintenanceClient,
  intent: MaintenanceIntent,
  { nodes, consent, flags }: BeginContext,
  terminal: Terminal,
): Promise<BegunMaintenance> {
  const own = nodes.filter(({ metadata }) => intent.nodes.includes(metadata.name));
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const all = await client.maintenances(terminal.stop);
    const step = decideMaintenanceStep(intent, all);
    if (step.kind === 'refused') throw new NodemaintError('API_REFUSED', step.message);
    const begins = intent.stage === 'Drain' && tries === 0;
    if (begins && beginsDrain(step)) await assertConsent(client, own, consent, terminal.stop);
    const leaving = { leaving: begins ? nodes : [], keep: consent.keep };
    const harm = await controlPlaneHarm(client, leaving, all, terminal.stop);
    if (harm !== undefined) {
      const fix = 'nothing was done; to drain it all the same, use --break-quorum';
      if (flags.breakQuorum !== true) throw new NodemaintError('API_REFUSED', `${harm}; ${fix}`);
      terminal.warn(`warning: ${harm}\n`);
    }
    const done = await takeStep(client, step, flags.dryRun, terminal.stop);
    // Another client changed it since it was read: try again.
    if (done === undefined) continue;
    warnOfOthers(done, all, own, terminal);
    const how = ({ create: 'created', change: 'changed', already: 'already there' } as const)[step.kind];
    return { maintenance: done, nodes: intent.nodes, how };
  }
  throw new NodemaintError('API_REFUSED', 'the maintenances of these nodes keep changing; try again');
}

/** The intent for each node by itself, unless one maintenance is wanted for all of them. Throws USAGE. */
function intentsOf(all: MaintenanceIntent, { together, name }: BeginFlags): readonly MaintenanceIntent[] {
  if (together === true || all.nodes.length === 1) return [all];
  if (name !== undefined) throw usage('--name is for one maintenance: with several nodes, add --together');
  return all.nodes.map((node) => ({ ...all, nodes: [node] }));
}

/**
 * Creates a maintenance for each node, or one for all, or moves existing ones on. Throws USAGE for an invalid plan,
 * API_REFUSED where a node does not exist or the server refuses.
 */
export async function beginMaintenances(
  client: MaintenanceClient,
  target: BeginTarget,
  flags: BeginFlags,
  terminal: Terminal,
): Promise<readonly BegunMaintenance[]> {
  const consent = consentOf(flags);
  const intents = intentsOf(await intentOf(target, flags, consent, terminal.stop), flags);
  const nodes = await findNodes(client, target.nodes, terminal.stop);
  const beginAll = async (dryRun: DryRun | undefined, to: Terminal): Promise<readonly BegunMaintenance[]> => {
    const begun: BegunMaintenance[] = [];
    const context = { nodes, consent, flags: { ...flags, dryRun } };
    for (const intent of intents) begun.push(await beginOne(client, intent, context, to));
    return begun;
  };
  // What is refused for one of several nodes is refused before anything is done.
  if (intents.length > 1) await beginAll('client', { ...terminal, warn: () => undefined });
  return await beginAll(flags.dryRun, terminal);
}
