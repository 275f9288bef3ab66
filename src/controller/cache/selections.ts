import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { selectsNode } from '../../decide/maintenance/maintenance.ts';
import { namedNodesOf } from '../../decide/selector.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { createGrouping } from '../../kube/copy/grouping.ts';

/**
 * Which maintenances select which nodes. A change of a maintenance is compared with the nodes that it names or, where it
 * selects by labels alone, with all nodes; a change of the labels of a node with the maintenances that may select it.
 */
export interface Selections {
  /** Notes that the maintenance of the name came, changed or went; returns whether it selects other nodes than before. */
  noteMaintenance(name: string): boolean;
  /** Notes that the node came, changed or went; returns the names of the maintenances that have gained or lost it. */
  noteNode(name: string): readonly string[];
  /** The names of the nodes that the maintenance selects, sorted. */
  nodesOf(maintenance: string): readonly string[];
  /** The names of the maintenances that select the node. */
  by(node: string): ReadonlySet<string>;
}

interface Copies {
  readonly maintenances: Pick<ObjectCache<NodeMaintenance>, 'get'>;
  readonly nodes: Pick<ObjectCache<Node>, 'get' | 'list'>;
}

/** The names of the nodes that the maintenance selects, sorted. */
function select(nodes: Copies['nodes'], maintenance: NodeMaintenance): readonly string[] {
  const named = namedNodesOf(maintenance.spec.nodeSelector);
  const candidates = named === undefined ? nodes.list() : [...new Set(named)].map((name) => nodes.get(name));
  const names: string[] = [];
  for (const node of candidates) {
    if (node !== undefined && selectsNode(maintenance, node)) names.push(node.metadata.name);
  }
  return names.toSorted();
}

export function createSelections({ maintenances, nodes }: Copies): Selections {
  const selected = createGrouping();
  /** The maintenances that name the nodes which they may select, by these names. */
  const naming = createGrouping();
  /** The maintenances that may select any node. */
  const unnamed = new Set<string>();
  const selectorOf = new Map<string, string>();
  const labelsOf = new Map<string, string>();

  const forget = (name: string): boolean => {
    const had = selected.valuesOf(name).length > 0;
    selected.set(name, []);
    naming.set(name, []);
    unnamed.delete(name);
    selectorOf.delete(name);
    return had;
  };
  /** Returns whether the maintenance has gained or lost the node. */
  const noteSelection = (name: string, node: Node | undefined, nodeName: string): boolean => {
    const maintenance = maintenances.get(name);
    const is = maintenance !== undefined && node !== undefined && selectsNode(maintenance, node);
    if (is === selected.under(nodeName).has(name)) return false;
    const others = selected.valuesOf(name).filter((each) => each !== nodeName);
    selected.set(name, is ? [...others, nodeName].toSorted() : others);
    return true;
  };
  return {
    nodesOf: (maintenance) => selected.valuesOf(maintenance),
    by: (node) => selected.under(node),
    noteMaintenance: (name) => {
      const maintenance = maintenances.get(name);
      if (maintenance === undefined) return forget(name);
      const selector = JSON.stringify(maintenance.spec.nodeSelector);
      if (selectorOf.get(name) === selector) return false;
      selectorOf.set(name, selector);
      const named = namedNodesOf(maintenance.spec.nodeSelector);
      naming.set(name, named ?? []);
      if (named === undefined) unnamed.add(name);
      else unnamed.delete(name);
      const before = selected.valuesOf(name);
      selected.set(name, select(nodes, maintenance));
      return before !== selected.valuesOf(name);
    },
    noteNode: (name) => {
      const node = nodes.get(name);
      const labels = node === undefined ? undefined : JSON.stringify(node.metadata.labels ?? {});
      if (labelsOf.get(name) === labels) return [];
      if (labels === undefined) labelsOf.delete(name);
      else labelsOf.set(name, labels);
      return [...new Set([...unnamed, ...naming.under(name), ...selected.under(name)])].filter((each) =>
        noteSelection(each, node, name),
      );
    },
  };
}
