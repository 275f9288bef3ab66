import { FORCE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance, WaitReason } from '../../api/node-maintenance.ts';
import { dueTiersOf, earliestDeadlines } from '../../decide/deadline/maintenance.ts';
import { drainOfMaintenance, joiningNodes } from '../../decide/drain/observed-drain.ts';
import type { Drain } from '../../decide/drain/overlapping-drains.ts';
import { type DrainResolution, resolveDrains } from '../../decide/drain/resolution.ts';
import { guardJoiningNodes, guardStaticPods } from '../../decide/maintenance/control-plane-guard.ts';
import type { ControlPlaneMember } from '../../decide/maintenance/control-plane-members.ts';
import { keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { agentNodeOf, stageOf } from '../../decide/maintenance/maintenance.ts';
import { rebootNodeOf, takesTurns } from '../../decide/shutdown/machine-going-down.ts';
import { throttleDrains, type ThrottledDrain } from '../../decide/maintenance/throttle.ts';
import { hasBegun, identityOf, type NodeIdentity, recordedNodes } from '../../decide/maintenance/recorded-node.ts';
import type { DrainPod } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';
import { drainPodOn, endsOnNode, type GoingDown, goingOf, waitedUntil } from '../../decide/staying-pod/staying-pods.ts';
import { controlPlaneMembers } from '../cache/control-plane.ts';
import type { DrainGroup } from '../cache/drain-groups.ts';
import { decideVolumes, recordedWait, volumesOn } from '../../decide/volume/wait.ts';
import type { ControllerContext } from '../context.ts';
import { createRebootTurns, type RebootTurns, type TurnToCome } from '../reboot/turns.ts';

/** A maintenance in the Drain stage, and the nodes that it selects. */
export interface Draining extends ThrottledDrain {
  readonly maintenance: NodeMaintenance;
  readonly identities: readonly NodeIdentity[];
}

function drainingOf(context: ControllerContext, maintenance: NodeMaintenance): Draining {
  const { name, creationTimestamp, annotations } = maintenance.metadata;
  const identities = context.maintenances.nodesOf(name).map(({ metadata }) => identityOf(metadata));
  const isShutdown = agentNodeOf(maintenance) !== undefined;
  return {
    name,
    maintenance,
    identities,
    createdAt: timeOf(creationTimestamp) ?? Infinity,
    begun: hasBegun(maintenance.status),
    nodes: identities.map((node) => node.name),
    joining: joiningNodes(maintenance, identities).map((node) => node.name),
    isShutdown,
    keep: keptBy(maintenance),
    // A machine that goes down in any case is not saved by throttling its drain; one that reboots has its turn by then.
    forced: annotations?.[FORCE_ANNOTATION] === 'true' || isShutdown,
    comesBack: rebootNodeOf(maintenance) !== undefined,
  };
}

/** Finds those of these names that are in the stage Drain, in the order of their creation; `given` may be newer than our copy. */
type KnownDrains = (names: Iterable<string>, given?: NodeMaintenance) => ReadonlyMap<string, Draining>;

/** Knows drains; `latest` returns a maintenance as our last write left it, where our copy does not show that yet. */
function createKnownDrains(
  context: ControllerContext,
  latest: (copy: NodeMaintenance) => NodeMaintenance,
): KnownDrains {
  const { maintenances } = context;
  return (names, given) => {
    const found = [...names].flatMap((name): readonly Draining[] => {
      const copy = maintenances.get(name);
      const maintenance = given?.metadata.name === name ? given : copy === undefined ? undefined : latest(copy);
      if (maintenance === undefined || stageOf(maintenances.withRebootApplied(maintenance)) !== 'Drain') return [];
      return [drainingOf(context, maintenance)];
    });
    const sorted = found.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
    return new Map(sorted.map((each) => [each.name, each]));
  };
}

/** What one drain of a group may do now. */
export type Verdict =
  /** Why it may not begin, and when that may be another without a change of its nodes, in milliseconds since the epoch. */
  | { readonly kind: 'waits'; readonly reason: WaitReason; readonly why: string; readonly nextAt: number }
  | {
      readonly kind: 'drains';
      readonly resolution: DrainResolution;
      readonly plan: Drain['plan'];
      /** Those of its nodes that wait, because they joined it later, each with the reason. */
      readonly joiningLater: ReadonlyMap<string, string>;
      /** When its deadline makes the next tier due, in milliseconds since the epoch; Infinity where none does. */
      readonly nextAt: number;
    };

/** The drains that share nodes, and what each of them may do. */
interface ResolvedGroup {
  readonly drains: ReadonlyMap<string, Draining>;
  readonly verdicts: ReadonlyMap<string, Verdict>;
}

/** Finds what the drains of the maintenance's group may do; the maintenance may be newer than our copy of it. */
type ResolveGroup = (maintenance: NodeMaintenance, now: number) => ResolvedGroup;

interface Memo extends ResolvedGroup {
  readonly revision: number;
  /** The revision of all drains, where their number is limited. */
  readonly turnsAt: number | undefined;
  /** Until when, in milliseconds since the epoch: then a deadline makes the next tier due. */
  readonly until: number;
}

const NO_WAITING: ReadonlyMap<string, string> = new Map();

/** A drain with when a time that passes takes it further. */
interface DueDrain {
  readonly drain: Drain;
  readonly nextAt: number;
}

/** A deadline comes closer without an event, and a machine that is in a hurry does not wait for the control plane. */
const GUARD_AGAIN_MS = 15_000;
/** Where the number of nodes is limited, drains that end are not told to each one that waits for them. */
const LIMITED_AGAIN_MS = 2_000;

/**
 * These drains with the pods of their nodes; several drains of a node have the same list of its pods. `guarded` are the nodes
 * whose static pods stay, with the reason.
 */
function withPods(
  context: ControllerContext,
  draining: readonly Draining[],
  guarded: ReadonlyMap<string, string>,
  now: number,
): readonly DueDrain[] {
  const sights = new Map<string, { readonly going: GoingDown; readonly drainPods: readonly DrainPod[] }>();
  const maintenances = draining.map(({ maintenance }) => maintenance);
  const sightOf = (node: NodeIdentity) => {
    const find = () => {
      const going = goingOf(maintenances, node.name, context.nodes.get(node.name), now);
      return { going, drainPods: context.pods.on(node.name).map((pod) => drainPodOn(pod, going)) };
    };
    const known = sights.get(node.name) ?? find();
    sights.set(node.name, known);
    return known;
  };
  const deadlines = earliestDeadlines(draining);
  const maxWaitMs = context.options.maxVolumeTime;
  return draining.map(({ maintenance, identities }) => {
    // A status is searched once for all of its nodes, and only where volumes are left.
    let recorded: ReturnType<typeof recordedNodes> | undefined;
    const recordedOn = (node: NodeIdentity): number | undefined =>
      recordedWait((recorded ??= recordedNodes(maintenance.status))(node));
    const seen = identities.map((identity) => {
      const { name } = identity;
      const [pods, deadline] = [context.pods.on(name), deadlines.get(name)];
      const { position: due, nextAt = Infinity } = dueTiersOf(maintenance, deadline, pods, now);
      const { going, drainPods } = sightOf(identity);
      const names = volumesOn(context.nodes.get(name));
      const known = (): number | undefined => recordedOn(identity);
      const volumes = decideVolumes(maintenance, { pods, names, known, maxWaitMs, deadlineAt: deadline?.at }, now);
      const guard = guarded.get(name);
      const node = { ...identity, pods: drainPods, volumes, due, ...(guard === undefined ? {} : { guard }) };
      const waited = pods.map((pod) => waitedUntil(endsOnNode(pod, going), going)).filter((at) => at > now);
      const guardAt = guard === undefined ? Infinity : now + GUARD_AGAIN_MS;
      return { node, nextAt: Math.min(nextAt, volumes.until ?? Infinity, guardAt, ...waited) };
    });
    const nodes = seen.map(({ node }) => node);
    const drain = drainOfMaintenance(maintenance, { nodes, isWhole: true });
    return { drain, nextAt: Math.min(...seen.map(({ nextAt }) => nextAt)) };
  });
}

/** A drain without those of its nodes that wait. */
function withoutWaiting(drain: Draining, waiting: ReadonlyMap<string, string> = NO_WAITING): Draining {
  if (waiting.size === 0) return drain;
  const identities = drain.identities.filter(({ name }) => !waiting.has(name));
  return { ...drain, identities, nodes: identities.map(({ name }) => name) };
}

/** A group, the drains that it has to be judged with, and those of all these that wait for their turn, with the reason. */
interface Turns {
  readonly members: readonly ControlPlaneMember[];
  readonly drains: ReadonlyMap<string, Draining>;
  readonly judged: readonly Draining[];
  readonly throttled: ReadonlyMap<string, string>;
  /** Those of them that wait because others reboot. */
  readonly reboots: ReadonlyMap<string, TurnToCome>;
}

function verdictsOf(
  context: ControllerContext,
  { members, drains, judged, throttled, reboots }: Turns,
  now: number,
): { readonly verdicts: ReadonlyMap<string, Verdict>; readonly until: number } {
  const begun = judged.filter(({ name }) => !throttled.has(name));
  const joiningLater = guardJoiningNodes(members, begun);
  const inTurn = begun.map((drain) => (takesTurns(drain.maintenance, now) ? { ...drain, forced: false } : drain));
  const free = [...drains.values()].filter(({ name }) => !throttled.has(name));
  const moving = withPods(
    context,
    free.map((each) => withoutWaiting(each, joiningLater.get(each.name))),
    guardStaticPods(members, inTurn),
    now,
  );
  const resolutions = resolveDrains(moving.map(({ drain }) => drain));
  const verdicts = new Map<string, Verdict>();
  for (const { drain, nextAt } of moving) {
    const { name, plan } = drain;
    const resolution = resolutions.get(name);
    if (resolution === undefined) continue;
    const waiting = joiningLater.get(name) ?? NO_WAITING;
    verdicts.set(name, { kind: 'drains', resolution, plan, joiningLater: waiting, nextAt });
  }
  for (const name of drains.keys()) {
    const why = throttled.get(name);
    const turn = reboots.get(name);
    const reason = turn?.reason ?? 'Waiting';
    const againMs = turn?.againMs ?? (context.options.maxParallelNodes === undefined ? Infinity : LIMITED_AGAIN_MS);
    if (why !== undefined) verdicts.set(name, { kind: 'waits', reason, why, nextAt: now + againMs });
  }
  return { verdicts, until: Math.min(...[...verdicts.values()].map(({ nextAt }) => nextAt)) };
}

/** The control plane is guarded against all drains that take members of it, whichever nodes these share. */
function guardsOf(
  { nodes, maintenances }: ControllerContext,
  drains: ReadonlyMap<string, Draining>,
): readonly string[] {
  const members = nodes.controlPlane().map(({ metadata }) => metadata.name);
  const isMember = new Set(members);
  const isGuarded =
    members.length > 0 && [...drains.values()].some((each) => each.nodes.some((node) => isMember.has(node)));
  return isGuarded ? members.flatMap((node) => maintenances.unsettledOn(node)) : [];
}

/** Without the machines that wait for their turn to reboot: they take nothing yet, and keep nobody waiting. */
function withTurn(
  drains: ReadonlyMap<string, Draining>,
  turns: RebootTurns,
  given: NodeMaintenance | undefined,
): readonly Draining[] {
  const waiting = turns(drains.keys(), given);
  return [...drains.values()].filter(({ name }) => !waiting.has(name));
}

/** The drains that wait where the number of nodes is limited, with the reason: one that ends is the turn of another one anywhere. */
function createLimitedTurns(
  context: ControllerContext,
  { known, rebootTurns }: { readonly known: KnownDrains; readonly rebootTurns: RebootTurns },
): (given: NodeMaintenance) => ReadonlyMap<string, string> {
  const { maintenances, options } = context;
  let turns: { readonly revision: number; readonly throttled: ReadonlyMap<string, string> } | undefined;
  return (given) => {
    const { revision } = maintenances.drains;
    if (turns?.revision === revision) return turns.throttled;
    const all = withTurn(known(maintenances.drains.names, given), rebootTurns, given);
    const throttled = throttleDrains(controlPlaneMembers(context), all, options.maxParallelNodes);
    turns = { revision, throttled };
    return throttled;
  };
}

/** Creates it for a term; `latest` is the maintenance as our last write left it, where our copy does not show that yet. */
export function createGroupResolver(
  context: ControllerContext,
  latest: (copy: NodeMaintenance) => NodeMaintenance,
): ResolveGroup {
  const { maintenances, options } = context;
  const known = createKnownDrains(context, latest);
  const rebootTurns = createRebootTurns(context, known, latest);
  const isLimited = options.maxParallelNodes !== undefined;
  const memos = new WeakMap<DrainGroup, Memo>();
  const turnsOfAll = createLimitedTurns(context, { known, rebootTurns });
  const compute = (group: DrainGroup, given: NodeMaintenance, now: number): Memo => {
    const drains = known(group.members, given);
    const judged = withTurn(
      known(new Set([...drains.keys(), ...guardsOf(context, drains)]), given),
      rebootTurns,
      given,
    );
    const reboots = rebootTurns(group.members, given);
    const members = controlPlaneMembers(context);
    const limited = isLimited ? turnsOfAll(given) : throttleDrains(members, judged, undefined);
    const throttled = new Map([...limited, ...[...reboots].map(([name, { message }]) => [name, message] as const)]);
    const turnsAt = isLimited ? maintenances.drains.revision : undefined;
    const verdicts = verdictsOf(context, { members, drains, judged, throttled, reboots }, now);
    return { drains, turnsAt, revision: group.revision, ...verdicts };
  };
  return (maintenance, now) => {
    const { name } = maintenance.metadata;
    const group = maintenances.groups.of(name);
    const memo = memos.get(group);
    const own = memo?.drains.get(name)?.maintenance;
    const isSame = own?.spec === maintenance.spec && own.status === maintenance.status;
    const isCurrent = memo?.revision === group.revision && now < memo.until;
    if (isCurrent && isSame && (!isLimited || memo.turnsAt === maintenances.drains.revision)) return memo;
    const fresh = compute(group, maintenance, now);
    memos.set(group, fresh);
    return fresh;
  };
}
