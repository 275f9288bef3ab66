import {
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  FORCE_ANNOTATION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../api/names.ts';
import type { NodeMaintenance, NodeStatus } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { notedReason } from '../../decide/maintenance/node-note.ts';
import { nodeStatusesOf } from '../../decide/maintenance/recorded-node.ts';
import { namedNodesOf } from '../../decide/selector.ts';
import { createGrouping } from '../../kube/cache/grouping.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { isOtherText } from './nodes.ts';

/** The deadline, and what says whether the node waits for its turn to reboot. */
const READ_ANNOTATIONS = [DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION, FORCE_ANNOTATION];
/** A shorter status is left as it is. */
const FEW = 4;

/** A maintenance as it was noted. */
interface Noted {
  readonly selector: string;
  /** What all its nodes go by. */
  readonly read: string;
  /** By the names of nodes: what its status has of them, and what of that they go by. */
  readonly recorded: ReadonlyMap<string, { readonly status: NodeStatus; readonly reached: string }>;
}

function notedOf(maintenance: NodeMaintenance): Noted {
  const { annotations = {}, deletionTimestamp } = maintenance.metadata;
  const recorded = nodeStatusesOf(maintenance.status).map((status) => {
    const reached = JSON.stringify([status.drainStartTime !== undefined, status.drainTargets ?? []]);
    return [status.nodeRef.name, { status, reached }] as const;
  });
  return {
    selector: JSON.stringify(maintenance.spec.nodeSelector),
    read: JSON.stringify([
      stageOf(maintenance),
      notedReason(maintenance) ?? '',
      // One in the stage Idle that is deleted, and that somebody's finalizer keeps, plans nothing any more.
      deletionTimestamp !== undefined,
      ...READ_ANNOTATIONS.map((name) => annotations[name]),
    ]),
    recorded: new Map(recorded),
  };
}

interface Copies {
  readonly maintenances: Pick<ObjectCache<NodeMaintenance>, 'get'>;
  readonly nodes: Pick<ObjectCache<Node>, 'get' | 'list'>;
}

/** The names of the nodes that the maintenance selects, sorted. */
function select(nodes: Copies['nodes'], maintenance: NodeMaintenance): readonly string[] {
  const named = namedNodesOf(maintenance.spec.nodeSelector);
  const candidates = named === undefined ? nodes.list() : [...new Set(named)].flatMap((name) => nodes.get(name) ?? []);
  const selected = candidates.filter((node) => selectsNode(maintenance, node));
  return selected.map(({ metadata }) => metadata.name).toSorted();
}

/** Which maintenances are about which nodes, because they select them or their status has them. */
export class MaintenanceNodes {
  readonly #copies: Copies;
  readonly #selected = createGrouping();
  /** The maintenances under the nodes that they name, and under '' where they may select others. */
  readonly #naming = createGrouping();
  readonly #recorded = createGrouping();
  readonly #noted = new Map<string, Noted>();
  readonly #labels = new Map<string, string>();

  constructor(copies: Copies) {
    this.#copies = copies;
  }

  /** The names of the nodes that the maintenance selects, sorted. */
  nodesOf(maintenance: string): readonly string[] {
    return this.#selected.valuesOf(maintenance);
  }

  /** The names of the maintenances that select the node. */
  by(node: string): ReadonlySet<string> {
    return this.#selected.under(node);
  }

  /** The same, and of those whose status has it. */
  on(node: string): ReadonlySet<string> {
    return new Set([...this.#selected.under(node), ...this.#recorded.under(node)]);
  }

  /** The maintenance with what its status has of this node, so that nobody looks through the nodes of a large one. */
  asSeenFrom(node: string, maintenance: NodeMaintenance): NodeMaintenance {
    const known = this.#noted.get(maintenance.metadata.name)?.recorded;
    if (known === undefined || known.size <= FEW) return maintenance;
    const own = known.get(node);
    const { nodeGroups: _, ...status } = maintenance.status ?? {};
    return { ...maintenance, status: { ...status, nodeStatuses: own === undefined ? [] : [own.status] } };
  }

  /**
   * Notes that the maintenance of the name came, changed or went; returns whether it selects other nodes than before, and the
   * nodes for which its stage, its reason, its deletion, its deadline or its targets have changed, or where its drain has begun.
   */
  note(name: string): { readonly selectsOthers: boolean; readonly affected: readonly string[] } {
    const maintenance = this.#copies.maintenances.get(name);
    const [before, after] = [this.#noted.get(name), maintenance && notedOf(maintenance)];
    const selectedBefore = this.nodesOf(name);
    if (before?.selector !== after?.selector) {
      const named = maintenance && namedNodesOf(maintenance.spec.nodeSelector);
      this.#naming.set(name, maintenance === undefined ? [] : (named ?? ['']));
      this.#selected.set(name, maintenance === undefined ? [] : select(this.#copies.nodes, maintenance));
    }
    this.#recorded.set(name, [...(after?.recorded.keys() ?? [])]);
    if (after === undefined) this.#noted.delete(name);
    else this.#noted.set(name, after);
    const [had, has] = [new Set(selectedBefore), new Set(this.nodesOf(name))];
    const textOn = (known: Noted | undefined, selects: ReadonlySet<string>, node: string): string => {
      const reached = known?.recorded.get(node)?.reached;
      return selects.has(node) || reached !== undefined ? `${selects.has(node)} ${known?.read} ${reached}` : '';
    };
    const all = new Set([...had, ...has, ...(before?.recorded.keys() ?? []), ...(after?.recorded.keys() ?? [])]);
    const affected = [...all].filter((node) => textOn(before, had, node) !== textOn(after, has, node));
    return { selectsOthers: selectedBefore !== this.nodesOf(name), affected };
  }

  /** Notes that the node came, changed or went; returns the names of the maintenances that have gained or lost it. */
  noteNode(name: string): readonly string[] {
    const node = this.#copies.nodes.get(name);
    const labels = node === undefined ? undefined : JSON.stringify(node.metadata.labels ?? {});
    if (!isOtherText(this.#labels, name, labels)) return [];
    const may = ['', name].flatMap((each) => [...this.#naming.under(each)]).concat([...this.by(name)]);
    return [...new Set(may)].filter((each) => {
      const maintenance = this.#copies.maintenances.get(each);
      const is = maintenance !== undefined && node !== undefined && selectsNode(maintenance, node);
      if (is === this.by(name).has(each)) return false;
      const others = this.nodesOf(each).filter((other) => other !== name);
      this.#selected.set(each, is ? [...others, name].toSorted() : others);
      return true;
    });
  }
}
