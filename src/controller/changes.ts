import { drainsOfNode } from '../decide/maintenance/maintenance.ts';
import type { Tell } from '../kube/loop/loops.ts';
import type { CopiedResource } from './cache/copies.ts';
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
  /** A node did, or what maintenances do to it: its requests and gated pods go by their stages, targets, deadlines and turns too. */
  readonly Node: Omit<NodeChange, 'nodes'> & { readonly name: string };
  /** A PodDisruptionBudget did, NAMESPACE/NAME. */
  readonly Budget: string;
  /** The API server refuses a write of the object of this key of `Refusals`, for another reason than before, or no longer. */
  readonly Refused: string;
}

/** By the kind of an object: notes that the one of a key was added, changed or deleted. */
export type ChangeNotes = Readonly<Record<CopiedResource, (key: string) => void>>;

/** Notes changes of objects in the indexes, and then tells the loops what follows from them. */
export function createChangeNotes(context: ControllerContext, tell: Tell<Changes>): ChangeNotes {
  const { maintenances, requests, pods, ungated } = context;
  const tellNodes = (names: readonly string[]): void => {
    for (const name of new Set(names)) tell('Node', { name, maintenances: [], isOtherForRequests: true });
  };
  return {
    Request: (key) => {
      tell('Request', { key, ...requests.note(key) });
    },
    Pod: (key) => {
      const { nodes, turned, isOtherControlPlane } = pods.note(key);
      for (const node of nodes) maintenances.groups.touchNode(node);
      tell('Pod', { key, nodes, turned });
      if (isOtherControlPlane) tellNodes(maintenances.noteControlPlane());
    },
    Maintenance: (name) => {
      const others = maintenances.note(name);
      tell('Maintenance', name);
      tellNodes(others);
      ungated.forget((node) => drainsOfNode(maintenances.on(node), node).length > 0);
    },
    Node: (name) => {
      const { nodes, ...change } = maintenances.noteNode(name);
      tell('Node', { name, ...change });
      tellNodes(nodes);
    },
    Budget: (key) => {
      tell('Budget', key);
    },
  };
}
