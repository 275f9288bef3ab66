import { drainsOfNode } from '../decide/maintenance/maintenance.ts';
import type { Tell } from '../kube/loop/loops.ts';
import type { CopiedResource } from './cache/copies.ts';
import { createAffectedNodes } from './cache/affected-nodes.ts';
import type { PodChange } from './cache/pods.ts';
import type { RequestChange } from './cache/requests.ts';
import type { NodeChange } from './cache/maintenances.ts';
import type { ControllerContext } from './context.ts';

/** What the loops of a leader are told, by its kind. */
export interface Changes {
  /** A NodeMaintenance came, changed or went; its name. */
  readonly Maintenance: string;
  /** An EvictionRequest did. */
  readonly Request: RequestChange & { readonly key: string };
  /** A pod did. */
  readonly Pod: Pick<PodChange, 'nodes' | 'turned'> & { readonly key: string };
  /** A node did. */
  readonly Node: Omit<NodeChange, 'nodes'> & { readonly name: string };
  /** A PodDisruptionBudget did, NAMESPACE/NAME. */
  readonly Budget: string;
  /** For the node of this name some maintenance is another one now: its stage, its reason, its deadline or its targets. */
  readonly Reach: string;
  /** The drains of this node may begin or go on now, or have to wait. */
  readonly DrainOrder: string;
  /** The pods, by the keys of their requests, whose eviction drains want from now on, or no longer. */
  readonly Wanted: readonly string[];
  /** The API server refuses a write of this node, for another reason than before, or no longer. */
  readonly RefusedNode: string;
  /** It refuses the EvictionRequest of this key, or the eviction of a pod that has none. */
  readonly RefusedRequest: string;
}

/** By the kind of an object: notes that the one of a key was added, changed or deleted. */
export type ChangeNotes = Readonly<Record<CopiedResource, (key: string) => void>>;

/** Notes changes of objects in the indexes, and then tells the loops what follows from them. */
export function createChangeNotes(context: ControllerContext, tell: Tell<Changes>): ChangeNotes {
  const { maintenances, requests, pods, ungated } = context;
  const reach = createAffectedNodes();
  const tellReach = (name: string): void => {
    const selected = maintenances.nodesOf(name).map(({ metadata }) => metadata.name);
    for (const node of reach.note(name, maintenances.get(name), selected)) tell('Reach', node);
  };
  const tellDrainOrder = (nodes: readonly string[]): void => {
    for (const node of nodes) tell('DrainOrder', node);
  };
  return {
    Request: (key) => {
      tell('Request', { key, ...requests.note(key) });
    },
    Pod: (key) => {
      const { nodes, turned, isOtherControlPlane } = pods.note(key);
      for (const node of nodes) maintenances.groups.touchNode(node);
      tell('Pod', { key, nodes, turned });
      if (isOtherControlPlane) tellDrainOrder(maintenances.noteControlPlane());
    },
    Maintenance: (name) => {
      tellDrainOrder(maintenances.note(name));
      tell('Maintenance', name);
      tellReach(name);
      ungated.forget((node) => drainsOfNode(maintenances.on(node), node).length > 0);
    },
    Node: (name) => {
      const { nodes, ...change } = maintenances.noteNode(name);
      tell('Node', { name, ...change });
      for (const maintenance of change.maintenances) tellReach(maintenance);
      tellDrainOrder(nodes);
    },
    Budget: (key) => {
      tell('Budget', key);
    },
  };
}
