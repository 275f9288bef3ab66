import { DEADLINE_ANNOTATION, FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import { hasBegun } from '../../decide/maintenance/recorded-node.ts';
import { agentNodeOf, isEndedByReboot, isSettled, stageOf } from '../../decide/maintenance/maintenance.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { DrainGroups } from './drain-groups.ts';
import { MaintenanceNodes } from './maintenance-nodes.ts';
import { isOtherText, type NodeIndex, type ObservedNodeChange } from './nodes.ts';

/**
 * The controller's copies of NodeMaintenances, found by their nodes. A shutdown whose machine was booted since is complete in
 * them before anybody has written that: where the API server was away for the rest of the shutdown, the first look at it must
 * not take pods away that have just come back.
 */
export interface MaintenanceIndex extends ObjectCache<NodeMaintenance> {
  /** Whether the maintenance is complete only by that, and its stage is still to be written. */
  isEndedByReboot(name: string): boolean;
  /** The maintenance, complete where it is so by that. */
  withRebootApplied(maintenance: NodeMaintenance): NodeMaintenance;
  /** Those that select the node, or name it in their status; of a long status, what it has of this node. */
  on(node: string): readonly NodeMaintenance[];
  /** The names of those of them that are not settled. */
  unsettledOn(node: string): readonly string[];
  /** The nodes that the maintenance selects, sorted by their names. */
  nodesOf(name: string): readonly Node[];
  /** How many those are. */
  sizeOf(name: string): number;
  /** The drains that share nodes. */
  readonly groups: Pick<DrainGroups, 'of' | 'touchNode'>;
  /** All drains. The revision grows with each change by which others may begin or go on. */
  readonly drains: { readonly names: ReadonlySet<string>; readonly revision: number };
  /** Whether what the one drain may do goes by what the other one has reached, so that they are looked at one by one. */
  areDecidedTogether(name: string, other: string): boolean;
  /** Whether a drain has little time: its machine goes down, or it has a deadline. */
  isUrgent(name: string): boolean;
  /** Notes that the maintenance of the name came, changed or went. Returns the nodes that have to be looked at for that. */
  note(name: string): readonly string[];
  /** Notes that the node came, changed or went. */
  noteNode(name: string): NodeChange;
  /** Notes that a component of the control plane changed. Returns the nodes whose drains have to be looked at for that. */
  noteControlPlane(): readonly string[];
}

/** What a change of a node means for maintenances. */
export interface NodeChange extends Omit<ObservedNodeChange, 'isOtherControlPlane'> {
  /** The names of those that have gained or lost the node. */
  readonly maintenances: readonly string[];
  /** The other nodes whose drains have to be looked at. */
  readonly nodes: readonly string[];
}

/** By what the order of drains is decided, apart from their nodes; undefined for a maintenance in another stage. */
function orderTextOf(maintenance: NodeMaintenance): string | undefined {
  if (stageOf(maintenance) !== 'Drain') return undefined;
  const { creationTimestamp, annotations } = maintenance.metadata;
  const read = [FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION, DEADLINE_ANNOTATION];
  return JSON.stringify([
    hasBegun(maintenance.status),
    creationTimestamp,
    agentNodeOf(maintenance),
    ...read.map((name) => annotations?.[name]),
  ]);
}

/** What drains go by beside their own objects. */
interface Surroundings {
  readonly maintenanceNodes: MaintenanceNodes;
  readonly groups: DrainGroups;
  readonly drains: { readonly names: Set<string>; revision: number };
}

/** Makes what notes changes: the drains of a group, and those of the control plane, may have something else to do after them. */
function createNotes(
  cache: ObjectCache<NodeMaintenance>,
  nodes: NodeIndex,
  { maintenanceNodes, groups, drains }: Surroundings,
): Pick<MaintenanceIndex, 'note' | 'noteNode' | 'noteControlPlane'> {
  /** Of the maintenances in the stage Drain, as they were noted: by what their order is decided. */
  const orderTexts = new Map<string, string>();
  /** Drains of its members wait for each other, whichever nodes they share. */
  const touchControlPlane = (): readonly string[] => {
    drains.revision += 1;
    const members = nodes.controlPlane().map(({ metadata }) => metadata.name);
    for (const member of members) groups.touchNode(member);
    return members;
  };
  return {
    noteControlPlane: touchControlPlane,
    note: (name) => {
      const maintenance = cache.get(name);
      const order = maintenance && orderTextOf(maintenance);
      const isOther = isOtherText(orderTexts, name, order);
      const isOtherStage = drains.names.has(name) !== (order !== undefined);
      if (order === undefined) drains.names.delete(name);
      else drains.names.add(name);
      const { selectsOthers, affected } = maintenanceNodes.note(name);
      if (selectsOthers || isOtherStage) groups.regroup(name);
      else groups.touch(name);
      return selectsOthers || isOther ? [...touchControlPlane(), ...affected] : affected;
    },
    noteNode: (name) => {
      const { isOtherControlPlane, ...facts } = nodes.note(name);
      const maintenances = maintenanceNodes.noteNode(name);
      for (const each of maintenances) groups.regroup(each);
      groups.touchNode(name);
      const others = isOtherControlPlane || maintenances.length > 0 ? touchControlPlane() : [];
      return { maintenances, nodes: others, ...facts };
    },
  };
}

/** Indexes the cached maintenances by node; each change of one of them and of a node has to be noted. */
export function createMaintenanceIndex(cache: ObjectCache<NodeMaintenance>, nodes: NodeIndex): MaintenanceIndex {
  const isOver = (maintenance: NodeMaintenance): boolean => {
    const node = nodes.get(agentNodeOf(maintenance) ?? '');
    return node !== undefined && isEndedByReboot(maintenance, node);
  };
  const withRebootApplied = (maintenance: NodeMaintenance): NodeMaintenance =>
    isOver(maintenance) ? { ...maintenance, spec: { ...maintenance.spec, stage: 'Complete' } } : maintenance;
  const get = (name: string): NodeMaintenance | undefined => {
    const maintenance = cache.get(name);
    return maintenance === undefined ? undefined : withRebootApplied(maintenance);
  };
  const maintenanceNodes = new MaintenanceNodes({ maintenances: cache, nodes });
  const drains = { names: new Set<string>(), revision: 0 };
  const groups = new DrainGroups(maintenanceNodes, drains.names);
  const on = (node: string): readonly NodeMaintenance[] =>
    [...maintenanceNodes.on(node)].flatMap((name) => {
      const maintenance = get(name);
      return maintenance === undefined ? [] : [maintenanceNodes.asSeenFrom(node, maintenance)];
    });
  return {
    ...cache,
    ...createNotes(cache, nodes, { maintenanceNodes, groups, drains }),
    withRebootApplied,
    get,
    list: () => cache.list().map(withRebootApplied),
    isEndedByReboot: (name) => {
      const maintenance = cache.get(name);
      return maintenance !== undefined && isOver(maintenance);
    },
    on,
    unsettledOn: (node) => on(node).flatMap((each) => (isSettled(each) ? [] : [each.metadata.name])),
    nodesOf: (name) => maintenanceNodes.nodesOf(name).flatMap((node) => nodes.get(node) ?? []),
    sizeOf: (name) => maintenanceNodes.nodesOf(name).length,
    areDecidedTogether: (name, other) => {
      if (groups.of(name).members.has(other)) return true;
      const guarded = nodes.controlPlane().map(({ metadata }) => maintenanceNodes.by(metadata.name));
      return guarded.some((by) => by.has(name)) && guarded.some((by) => by.has(other));
    },
    isUrgent: (name) => {
      const maintenance = cache.get(name);
      if (maintenance === undefined || stageOf(maintenance) !== 'Drain') return false;
      return agentNodeOf(maintenance) !== undefined || deadlineOf(maintenance) !== undefined;
    },
    groups,
    drains,
  };
}
