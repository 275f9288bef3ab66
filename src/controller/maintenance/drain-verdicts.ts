import { FORCE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance, WaitReason } from '../../api/node-maintenance.ts';
import { earliestDeadlines } from '../../decide/deadline/maintenance.ts';
import { drainOfMaintenance, dueOnNode, joiningNodes } from '../../decide/drain/observed-drain.ts';
import type { Drain } from '../../decide/drain/overlapping-drains.ts';
import { type DrainResolution, resolveDrains } from '../../decide/drain/resolution.ts';
import { guardJoiningNodes, guardStaticPods } from '../../decide/maintenance/control-plane-guard.ts';
import type { ControlPlaneMember } from '../../decide/maintenance/control-plane-members.ts';
import { keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { agentNodeOf, stageOf } from '../../decide/maintenance/maintenance.ts';
import { rebootNodeOf, takesTurns } from '../../decide/reboot/turn.ts';
import { throttleDrains, type ThrottledDrain } from '../../decide/maintenance/throttle.ts';
import { hasBegun, identityOf, type NodeIdentity, recordedNodes } from '../../decide/maintenance/recorded-node.ts';
import type { DrainPod } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';
import { drainPodOn, endsOnNode, type GoingDown, goingOf, waitedUntil } from '../../decide/staying-pod/staying-pods.ts';
import { controlPlaneMembers } from '../cache/control-plane.ts';
import type { DrainGroup } from '../cache/drain-groups.ts';
import { recordedWait, volumesOn } from '../../decide/volume/wait.ts';
import type { ControllerContext } from '../context.ts';
import { RebootTurns } from '../reboot/turns.ts';

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

/** What one drain of a group may do now. */
type Verdict =
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
  const sightOf = (name: string) => {
    const find = () => {
      const going = goingOf(maintenances, name, context.nodes.get(name), now);
      return { going, drainPods: context.pods.on(name).map((pod) => drainPodOn(pod, going)) };
    };
    const known = sights.get(name) ?? find();
    sights.set(name, known);
    return known;
  };
  const deadlines = earliestDeadlines(draining);
  const maxWaitMs = context.options.maxVolumeTime;
  return draining.map(({ maintenance, identities }) => {
    const recordedOf = recordedNodes(maintenance.status);
    const seen = identities.map((identity) => {
      const { name } = identity;
      const { going, drainPods } = sightOf(name);
      const [pods, deadline, names] = [context.pods.on(name), deadlines.get(name), volumesOn(context.nodes.get(name))];
      const known = (): number | undefined => recordedWait(recordedOf(identity));
      const { nextAt, ...due } = dueOnNode(maintenance, { pods, names, known, maxWaitMs, deadline }, now);
      const guard = guarded.get(name);
      const node = { ...identity, pods: drainPods, ...due, ...(guard === undefined ? {} : { guard }) };
      const waited = pods.map((pod) => waitedUntil(endsOnNode(pod, going), going)).filter((at) => at > now);
      return { node, nextAt: Math.min(nextAt, guard === undefined ? Infinity : now + GUARD_AGAIN_MS, ...waited) };
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

/** What drains may do, each together with those that share nodes with it; for one term. */
export class DrainVerdicts {
  readonly #context: ControllerContext;
  readonly #latest: (copy: NodeMaintenance) => NodeMaintenance;
  readonly #rebootTurns: RebootTurns;
  readonly #memos = new WeakMap<DrainGroup, Memo>();
  /** Where the number of nodes is limited, all that wait, with the reason: a drain that ends is the turn of another one anywhere. */
  #limited: { readonly revision: number; readonly throttled: ReadonlyMap<string, string> } | undefined;

  /** `latest` returns a maintenance as our last write left it, where our copy does not show that yet. */
  constructor(context: ControllerContext, latest: (copy: NodeMaintenance) => NodeMaintenance) {
    this.#context = context;
    this.#latest = latest;
    this.#rebootTurns = new RebootTurns(context, (names) => this.#known(names), latest);
  }

  /** What the drains of the maintenance's group may do `now`; the maintenance may be newer than our copy of it. */
  of(maintenance: NodeMaintenance, now: number): ResolvedGroup {
    const { maintenances, options } = this.#context;
    const { name } = maintenance.metadata;
    const group = maintenances.groups.of(name);
    const turnsAt = options.maxParallelNodes === undefined ? undefined : maintenances.drains.revision;
    const memo = this.#memos.get(group);
    const own = memo?.drains.get(name)?.maintenance;
    const isSame = own?.spec === maintenance.spec && own.status === maintenance.status;
    const isCurrent = memo?.revision === group.revision && memo.turnsAt === turnsAt && now < memo.until;
    if (isCurrent && isSame) return memo;
    const fresh = { ...this.#resolve(group, maintenance, now), revision: group.revision, turnsAt };
    this.#memos.set(group, fresh);
    return fresh;
  }

  /** Those of these names that are in the stage Drain, in the order of their creation; `given` may be newer than our copy. */
  #known(names: Iterable<string>, given?: NodeMaintenance): ReadonlyMap<string, Draining> {
    const { maintenances } = this.#context;
    const found = [...names].flatMap((name): readonly Draining[] => {
      const copy = maintenances.get(name);
      const maintenance = given?.metadata.name === name ? given : copy && this.#latest(copy);
      if (maintenance === undefined || stageOf(maintenances.withRebootApplied(maintenance)) !== 'Drain') return [];
      return [drainingOf(this.#context, maintenance)];
    });
    const sorted = found.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
    return new Map(sorted.map((each) => [each.name, each]));
  }

  /** The same without the machines that wait for their turn to reboot: they take nothing yet, and keep nobody waiting. */
  #inTurn(names: Iterable<string>, given: NodeMaintenance): readonly Draining[] {
    const drains = this.#known(names, given);
    const waiting = this.#rebootTurns.among(drains.keys(), given);
    return [...drains.values()].filter(({ name }) => !waiting.has(name));
  }

  /** The members of the control plane are guarded against all drains that take any of them, whichever nodes these share. */
  #guards(drains: ReadonlyMap<string, Draining>): readonly string[] {
    const { nodes, maintenances } = this.#context;
    const members = new Set(nodes.controlPlane().map(({ metadata }) => metadata.name));
    const takesAny = [...drains.values()].some((each) => each.nodes.some((node) => members.has(node)));
    return takesAny ? [...members].flatMap((node) => maintenances.unsettledOn(node)) : [];
  }

  #throttledOfAll(members: readonly ControlPlaneMember[], given: NodeMaintenance): ReadonlyMap<string, string> {
    const { maintenances, options } = this.#context;
    const { revision, names } = maintenances.drains;
    if (this.#limited?.revision === revision) return this.#limited.throttled;
    const throttled = throttleDrains(members, this.#inTurn(names, given), options.maxParallelNodes);
    this.#limited = { revision, throttled };
    return throttled;
  }

  #resolve(group: DrainGroup, given: NodeMaintenance, now: number): ResolvedGroup & Pick<Memo, 'until'> {
    const isLimited = this.#context.options.maxParallelNodes !== undefined;
    const drains = this.#known(group.members, given);
    const judged = this.#inTurn(new Set([...drains.keys(), ...this.#guards(drains)]), given);
    const reboots = this.#rebootTurns.among(group.members, given);
    const members = controlPlaneMembers(this.#context);
    const throttled = isLimited ? this.#throttledOfAll(members, given) : throttleDrains(members, judged, undefined);
    const waits = (name: string): string | undefined => reboots.get(name)?.message ?? throttled.get(name);

    const begun = judged.filter(({ name }) => waits(name) === undefined);
    const joiningLater = guardJoiningNodes(members, begun);
    const inTurn = begun.map((drain) => (takesTurns(drain.maintenance, now) ? { ...drain, forced: false } : drain));
    const free = [...drains.values()].filter(({ name }) => waits(name) === undefined);
    const moving = withPods(
      this.#context,
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
      const why = waits(name);
      const { reason = 'Waiting', againMs = isLimited ? LIMITED_AGAIN_MS : Infinity } = reboots.get(name) ?? {};
      if (why !== undefined) verdicts.set(name, { kind: 'waits', reason, why, nextAt: now + againMs });
    }
    return { drains, verdicts, until: Math.min(...[...verdicts.values()].map(({ nextAt }) => nextAt)) };
  }
}
