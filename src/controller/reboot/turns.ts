import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { type GuardedDrain, guardControlPlane } from '../../decide/maintenance/control-plane-guard.ts';
import { isHealthy } from '../../decide/maintenance/control-plane-members.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { begunNode, drainBegan } from '../../decide/maintenance/recorded-node.ts';
import { type AskedReboot, placesOf, REBOOT_TERM_MS, rebootsOverLimit } from '../../decide/reboot/limit.ts';
import { rebootNodeOf, takesTurns, type TurnWait } from '../../decide/reboot/turn.ts';
import { timeOf } from '../../decide/time.ts';
import { controlPlaneMembers } from '../cache/control-plane.ts';
import type { ControllerContext } from '../context.ts';

/** A reboot that waits. */
interface TurnToCome extends TurnWait {
  /** After how many milliseconds to ask again. */
  readonly againMs: number;
}

/** Finds the drains of these names that are in the stage Drain. */
type FindDrains = (names: Iterable<string>) => ReadonlyMap<string, GuardedDrain>;

/** What was decided holds for this time, and longer where many reboot. */
const LEAST_REST_MS = 500;
const REST_MS_PER_REBOOT = 10;

/** A machine that reboots or is to, as the agent of its node says. */
interface Reboot {
  readonly maintenance: NodeMaintenance;
  readonly node: Node;
  readonly begun: boolean;
}

/** The place of a node, however many objects it makes. */
interface Place {
  /** Since when it has it, on the monotonic clock. */
  readonly since: number;
  /** The boot in which it got it. */
  readonly bootId: string;
}

function bootIdOf({ status }: Node): string {
  return status?.nodeInfo?.bootID ?? '';
}

/**
 * The nodes that others wait for. What is known of one is kept for the whole term, so that a node that asks again and again does
 * not begin anew; a new leader counts from the time when the drain began.
 */
class Places {
  #known = new Map<string, Place>();

  /** Notes that these have their turn `now`. */
  note({ clock }: ControllerContext, begun: readonly Reboot[], now: number): void {
    for (const { maintenance, node } of begun) {
      const { name } = node.metadata;
      if (this.#known.has(name)) continue;
      const agoMs = Math.max(0, clock.now() - (drainBegan(maintenance, node.metadata) ?? clock.now()));
      this.#known.set(name, { since: now - agoMs, bootId: bootIdOf(node) });
    }
  }

  /** The nodes that hold a place `now`; `begun` are all that have their turn. */
  holders(context: ControllerContext, begun: readonly Reboot[], now: number): ReadonlySet<string> {
    this.note(context, begun, now);
    const going = new Set(begun.map(({ node }) => node.metadata.name));
    const holders = new Set<string>();
    for (const [name, { since, bootId }] of this.#known) {
      const node = context.nodes.get(name);
      const isAway = node !== undefined && !isHealthy(node);
      const isBack = node === undefined || (!isAway && bootIdOf(node) !== bootId);
      const isOver = isBack || now - since >= REBOOT_TERM_MS;
      if (isOver && !going.has(name)) this.#known.delete(name);
      else if (!isOver && (isAway || going.has(name))) holders.add(name);
    }
    return holders;
  }
}

interface Decided {
  readonly at: number;
  readonly restMs: number;
  /** The names of all that were looked at. */
  readonly names: ReadonlySet<string>;
  readonly waits: ReadonlyMap<string, TurnWait>;
}

function idOf({ metadata }: NodeMaintenance): string {
  return metadata.uid ?? metadata.name;
}

/** The turns of a term: who has one is decided first by the control plane, then by the limit. Time ends a wait for the limit alone. */
export class RebootTurns {
  readonly #context: ControllerContext;
  readonly #find: FindDrains;
  readonly #latest: (copy: NodeMaintenance) => NodeMaintenance;
  readonly #places = new Places();
  /** The turns that were given, and perhaps are not written yet. */
  #given: ReadonlySet<string> = new Set();
  #decided: Decided | undefined;

  /** `latest` returns a maintenance as our last write left it. */
  constructor(context: ControllerContext, find: FindDrains, latest: (copy: NodeMaintenance) => NodeMaintenance) {
    this.#context = context;
    this.#find = find;
    this.#latest = latest;
  }

  /** The drains of these names that wait for their turn to reboot, by name; `given` may be newer than our copy. */
  among(names: Iterable<string>, given?: NodeMaintenance): ReadonlyMap<string, TurnToCome> {
    const waits = [...names].flatMap((name): [string, TurnToCome][] => {
      const copy = name === given?.metadata.name ? given : this.#context.maintenances.get(name);
      const wait = copy && this.#waitOf(this.#latest(copy));
      return wait === undefined ? [] : [[name, wait]];
    });
    return new Map(waits);
  }

  #waitOf(maintenance: NodeMaintenance): TurnToCome | undefined {
    const { nodes, clock } = this.#context;
    const node = nodes.get(rebootNodeOf(maintenance) ?? '');
    if (node === undefined || begunNode(maintenance.status, node.metadata) !== undefined) return undefined;
    if (!takesTurns(maintenance, clock.now())) return undefined;
    const now = clock.monotonic();
    const { name } = maintenance.metadata;
    const known = this.#decided;
    const isCurrent = known !== undefined && now - known.at < known.restMs && known.names.has(name);
    const { waits, restMs } = isCurrent ? known : (this.#decided = this.#decide(now));
    const wait = waits.get(name);
    return wait === undefined ? undefined : { ...wait, againMs: 2 * restMs };
  }

  #decide(now: number): Decided {
    const reboots = this.#reboots();
    const { options, nodes, clock } = this.#context;
    const asking = reboots.filter(({ maintenance, begun }) => !begun && takesTurns(maintenance, clock.now()));
    const guarded = this.#guarded(reboots, asking);
    const free = asking.filter(({ maintenance }) => !guarded.has(maintenance.metadata.name));
    const askedAt = new Map<string, number>();
    for (const { node, maintenance } of free) {
      const at = timeOf(maintenance.metadata.creationTimestamp) ?? Infinity;
      askedAt.set(node.metadata.name, Math.min(at, askedAt.get(node.metadata.name) ?? Infinity));
    }
    const asked = [...askedAt].map(([node, at]): AskedReboot => ({ node, askedAt: at }));
    const begun = reboots.filter((each) => each.begun);
    const holders = this.#places.holders(this.#context, begun, now);
    const over = rebootsOverLimit(asked, holders, placesOf(options.maxParallelReboots, nodes.list().length));
    const waits = new Map<string, TurnWait>();
    for (const [name, message] of guarded) waits.set(name, { reason: 'WaitingForControlPlane', message });
    for (const { node, maintenance } of free) {
      const message = over.get(node.metadata.name);
      if (message !== undefined) waits.set(maintenance.metadata.name, { reason: 'WaitingForTurn', message });
    }
    const hasTurn = reboots.filter(({ maintenance }) => {
      return stageOf(maintenance) === 'Drain' && !waits.has(maintenance.metadata.name);
    });
    this.#places.note(this.#context, hasTurn, now);
    this.#given = new Set(hasTurn.map(({ maintenance }) => idOf(maintenance)));
    const names = new Set(reboots.map(({ maintenance }) => maintenance.metadata.name));
    return { at: now, restMs: Math.max(LEAST_REST_MS, reboots.length * REST_MS_PER_REBOOT), names, waits };
  }

  /** Those that are to reboot, and those whose machine is not back although its shutdown is complete. */
  #reboots(): readonly Reboot[] {
    const { maintenances, nodes } = this.#context;
    return maintenances.list().flatMap((copy): Reboot[] => {
      const node = nodes.get(rebootNodeOf(copy) ?? '');
      if (node === undefined) return [];
      const maintenance = maintenances.withRebootApplied(this.#latest(copy));
      const stage = stageOf(maintenance);
      const isWritten = begunNode(maintenance.status, node.metadata) !== undefined;
      if (stage === 'Drain') return [{ maintenance, node, begun: isWritten || this.#given.has(idOf(maintenance)) }];
      return stage === 'Complete' && isWritten && !isHealthy(node) ? [{ maintenance, node, begun: true }] : [];
    });
  }

  /** Those that would take the control plane, beside all that leave it already; as the guard of all drains judges. */
  #guarded(reboots: readonly Reboot[], asking: readonly Reboot[]): ReadonlyMap<string, string> {
    const { nodes, maintenances } = this.#context;
    const members = nodes.controlPlane().map(({ metadata }) => metadata.name);
    const isMember = new Set(members);
    if (!asking.some(({ node }) => isMember.has(node.metadata.name))) return new Map();
    const isAsking = new Set(asking.map(({ maintenance }) => maintenance.metadata.name));
    const hasBegun = new Set(reboots.flatMap(({ maintenance, begun }) => (begun ? [maintenance.metadata.name] : [])));
    const names = new Set(members.flatMap((node) => maintenances.unsettledOn(node)));
    const drains = [...this.#find(names).values()].map((drain) =>
      isAsking.has(drain.name)
        ? { ...drain, forced: false }
        : { ...drain, begun: drain.begun || hasBegun.has(drain.name) },
    );
    const throttled = guardControlPlane(controlPlaneMembers(this.#context), drains);
    return new Map([...throttled].filter(([name]) => isAsking.has(name)));
  }
}
