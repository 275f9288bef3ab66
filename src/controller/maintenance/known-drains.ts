import { FORCE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { joiningNodes } from '../../decide/drain/observed-drain.ts';
import { keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { hasBegun, identityOf, type NodeIdentity } from '../../decide/maintenance/recorded-node.ts';
import { agentNodeOf, stageOf } from '../../decide/maintenance/maintenance.ts';
import type { ThrottledDrain } from '../../decide/maintenance/throttle.ts';
import { rebootNodeOf } from '../../decide/shutdown/machine-going-down.ts';
import { timeOf } from '../../decide/time.ts';
import type { ControllerContext } from '../context.ts';

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

/** The drains of the cluster as they are known best. */
export interface KnownDrains {
  /** Those of these names that are in the stage Drain, in the order of their creation; `given` may be newer than our copy. */
  among(names: Iterable<string>, given?: NodeMaintenance): ReadonlyMap<string, Draining>;
}

/** Finds drains; `latest` returns a maintenance as our last write left it, where our copy does not show that yet. */
export function createKnownDrains(
  context: ControllerContext,
  latest: (copy: NodeMaintenance) => NodeMaintenance,
): KnownDrains {
  const { maintenances } = context;
  const find = (name: string, given: NodeMaintenance | undefined): readonly Draining[] => {
    const copy = maintenances.get(name);
    const maintenance = given?.metadata.name === name ? given : copy === undefined ? undefined : latest(copy);
    if (maintenance === undefined || stageOf(maintenances.withRebootApplied(maintenance)) !== 'Drain') return [];
    return [drainingOf(context, maintenance)];
  };
  return {
    among: (names, given) => {
      const found = [...names].flatMap((name) => find(name, given));
      const sorted = found.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
      return new Map(sorted.map((each) => [each.name, each]));
    },
  };
}
