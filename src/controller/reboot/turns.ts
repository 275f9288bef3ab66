import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { begunNode, hasDrained } from '../../decide/maintenance/recorded-node.ts';
import { isControlPlane, isHealthy, membersOfControlPlane } from '../../decide/maintenance/control-plane-members.ts';
import { rebootNodeOf, takesTurns } from '../../decide/shutdown/machine-going-down.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isStalled, noteProgress, type RebootProgress } from '../../decide/reboot/progress.ts';
import { decideTurns, describeTurnWait, type Reboot } from '../../decide/reboot/turns.ts';
import { timeOf } from '../../decide/time.ts';
import type { ControllerContext } from '../context.ts';
import { createBudgetNeeds } from './budget-needs.ts';

/** The turns of the machines that reboot. */
interface RebootTurns {
  /** Those of the drains that wait for their turn, by name; `given` may be newer than our copy. */
  among(names: Iterable<string>, given: NodeMaintenance): ReadonlyMap<string, TurnToCome>;
}

/** A reboot that waits. */
export interface TurnToCome {
  readonly why: string;
  /** After how many milliseconds to ask again. */
  readonly againMs: number;
}

/** What was decided holds for this time, and longer where many reboot; the budgets that turns go by change all the time. */
const LEAST_REST_MS = 500;
const REST_MS_PER_REBOOT = 10;

/** A machine that reboots, and where it is. */
interface OpenReboot {
  readonly maintenance: NodeMaintenance;
  readonly node: Node;
  /** Whether its drain is over, so that only the machine is missing. */
  readonly isOver: boolean;
  readonly begun: boolean;
}

const NO_NEEDS: ReadonlyMap<string, number> = new Map();

interface Decided {
  readonly at: number;
  readonly restMs: number;
  /** The names of all that were looked at. */
  readonly names: ReadonlySet<string>;
  readonly waits: ReadonlyMap<string, string>;
}

function idOf({ metadata }: NodeMaintenance): string {
  return metadata.uid ?? metadata.name;
}

/** Since when what is seen again and again has been so, on the monotonic clock. */
class Watched {
  #reboots = new Map<string, RebootProgress>();
  #members = new Map<string, number>();

  /** Whether others no longer wait for each of the reboots. */
  stalled(
    { pods }: Pick<ControllerContext, 'pods'>,
    begun: readonly OpenReboot[],
    maxMs: number,
    now: number,
  ): ReadonlySet<NodeMaintenance> {
    const before = this.#reboots;
    this.#reboots = new Map();
    const stalled = new Set<NodeMaintenance>();
    for (const { maintenance, node, isOver } of begun) {
      const { name } = node.metadata;
      const isDrained = hasDrained(maintenance, name);
      const sight = { podsLeft: pods.on(name).length, isDrained, isReady: isHealthy(node), isOver };
      const progress = noteProgress(before.get(idOf(maintenance)), sight, now);
      this.#reboots.set(idOf(maintenance), progress);
      if (isStalled(progress, maxMs, now)) stalled.add(maintenance);
    }
    return stalled;
  }

  /** Those of the nodes that have not been away for longer than `maxMs`. */
  away(nodes: readonly string[], maxMs: number, now: number): readonly string[] {
    this.#members = new Map(nodes.map((node) => [node, this.#members.get(node) ?? now]));
    return nodes.filter((node) => now - (this.#members.get(node) ?? now) < maxMs);
  }
}

/** The reboots whose machines are not back yet. */
function openReboots(
  { maintenances, nodes, options, clock }: ControllerContext,
  latest: (copy: NodeMaintenance) => NodeMaintenance,
): readonly OpenReboot[] {
  return maintenances.list().flatMap((copy): OpenReboot[] => {
    const node = nodes.get(rebootNodeOf(copy) ?? '');
    if (node === undefined) return [];
    const maintenance = maintenances.withRebootApplied(latest(copy));
    const stage = stageOf(maintenance);
    const begun = begunNode(maintenance.status, node.metadata) !== undefined;
    if (stage === 'Drain') return [{ maintenance, node, isOver: false, begun: begun || !takesTurns(maintenance) }];
    if (stage !== 'Complete' || !begun || isHealthy(node)) return [];
    const over = maintenance.status?.stageStatuses?.find(({ name }) => name === 'Complete');
    const since = timeOf(over?.startTimestamp) ?? Infinity;
    return clock.now() - since > options.maxRebootTime ? [] : [{ maintenance, node, isOver: true, begun }];
  });
}

/**
 * Decides who has its turn. All is derived from the objects but two things: which turns were given and are not written yet, and
 * since when machines get no further, which a new term counts again from its beginning.
 */
class TurnDecider {
  readonly #context: ControllerContext;
  readonly #latest: (copy: NodeMaintenance) => NodeMaintenance;
  readonly #needsOf: (node: string) => ReadonlyMap<string, number>;
  readonly #watched = new Watched();
  #given: ReadonlySet<string> = new Set();

  constructor(context: ControllerContext, latest: (copy: NodeMaintenance) => NodeMaintenance) {
    this.#context = context;
    this.#latest = latest;
    this.#needsOf = createBudgetNeeds(context);
  }

  decide(now: number): Decided {
    const { budgets, options } = this.#context;
    const open = openReboots(this.#context, this.#latest);
    const reboots = this.#seen(open, now);
    const waits = decideTurns({
      reboots,
      allowed: (key) => budgets.get(key)?.status?.disruptionsAllowed ?? 0,
      membersAway: this.#membersAway(reboots, now),
      maxParallel: options.maxParallelReboots,
    });
    const hasTurn = open.filter(({ maintenance }) => !waits.has(maintenance.metadata.name));
    this.#given = new Set(hasTurn.map(({ maintenance }) => idOf(maintenance)));
    return {
      at: now,
      restMs: Math.max(LEAST_REST_MS, open.length * REST_MS_PER_REBOOT),
      names: new Set(reboots.map(({ name }) => name)),
      waits: new Map([...waits].map(([name, wait]) => [name, describeTurnWait(wait)])),
    };
  }

  #seen(open: readonly OpenReboot[], now: number): readonly Reboot[] {
    const begun = new Set(open.filter((each) => each.begun || this.#given.has(idOf(each.maintenance))));
    const stalled = this.#watched.stalled(this.#context, [...begun], this.#context.options.maxRebootTime, now);
    return open.map((each): Reboot => {
      const { maintenance, node, isOver } = each;
      const { name, creationTimestamp } = maintenance.metadata;
      return {
        name,
        node: node.metadata.name,
        createdAt: timeOf(creationTimestamp) ?? Infinity,
        begun: begun.has(each),
        stalled: stalled.has(maintenance),
        isMember: isControlPlane(node),
        needs: isOver ? NO_NEEDS : this.#needsOf(node.metadata.name),
      };
    });
  }

  #membersAway(reboots: readonly Reboot[], now: number): readonly string[] {
    const { nodes, pods, options } = this.#context;
    const rebooting = new Set(reboots.flatMap(({ node, begun }) => (begun ? [node] : [])));
    const members = membersOfControlPlane(nodes.controlPlane(), (node) => pods.on(node));
    const away = members.filter(({ name, fault }) => fault !== undefined && !rebooting.has(name));
    const names = away.map(({ name }) => name);
    return this.#watched.away(names, options.maxRebootTime, now);
  }
}

/** Creates the turns of a term; `latest` returns a maintenance as our last write left it. */
export function createRebootTurns(
  context: ControllerContext,
  latest: (copy: NodeMaintenance) => NodeMaintenance,
): RebootTurns {
  const { maintenances, nodes, clock } = context;
  const decider = new TurnDecider(context, latest);
  let decided: Decided | undefined;
  const waitOf = (maintenance: NodeMaintenance): TurnToCome | undefined => {
    const node = takesTurns(maintenance) ? nodes.get(rebootNodeOf(maintenance) ?? '') : undefined;
    if (node === undefined || begunNode(maintenance.status, node.metadata) !== undefined) return undefined;
    const now = clock.monotonic();
    const { name } = maintenance.metadata;
    const isCurrent = decided !== undefined && now - decided.at < decided.restMs && decided.names.has(name);
    const current = isCurrent && decided !== undefined ? decided : decider.decide(now);
    decided = current;
    const why = current.waits.get(name);
    return why === undefined ? undefined : { why, againMs: 2 * current.restMs };
  };
  return {
    among: (names, given) => {
      const waits = [...names].flatMap((name): [string, TurnToCome][] => {
        const copy = name === given.metadata.name ? given : maintenances.get(name);
        const wait = copy === undefined ? undefined : waitOf(latest(copy));
        return wait === undefined ? [] : [[name, wait]];
      });
      return new Map(waits);
    },
  };
}
