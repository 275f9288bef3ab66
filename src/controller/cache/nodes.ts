import type { Node } from '../../api/pod.ts';
import { isControlPlane, isHealthy } from '../../decide/maintenance/control-plane-guard.ts';
import type { ObjectCache } from '../../kube/watch.ts';

/** The controller's copies of nodes, with those of the control plane at hand. */
export interface NodeIndex extends ObjectCache<Node> {
  /** The members of the control plane, sorted by their names. */
  controlPlane(): readonly Node[];
  /** Notes that the node came, changed or went. */
  note(name: string): NodeFacts;
}

/** What has changed about a node. */
export interface NodeFacts {
  /** The control plane has other members now, or other healthy ones. */
  readonly isOtherControlPlane: boolean;
  /** It was cordoned or uncordoned, and its drains may begin or have to wait. */
  readonly isOtherwiseCordoned: boolean;
}

/** Indexes the cached nodes; each change has to be noted. */
export function createNodeIndex(cache: ObjectCache<Node>): NodeIndex {
  /** Whether each member is healthy, by its name. */
  const members = new Map<string, boolean>();
  let sorted: readonly string[] = [];
  const cordoned = new Set<string>();
  return {
    ...cache,
    controlPlane: () => sorted.flatMap((name) => cache.get(name) ?? []),
    note: (name) => {
      const node = cache.get(name);
      const before = members.get(name);
      const after = node !== undefined && isControlPlane(node) ? isHealthy(node) : undefined;
      const isCordoned = cordoned.has(name);
      if (node?.spec?.unschedulable === true) cordoned.add(name);
      else cordoned.delete(name);
      const isOtherwiseCordoned = isCordoned !== cordoned.has(name);
      if (before === after) return { isOtherControlPlane: false, isOtherwiseCordoned };
      if (after === undefined) members.delete(name);
      else members.set(name, after);
      sorted = [...members.keys()].toSorted();
      return { isOtherControlPlane: true, isOtherwiseCordoned };
    },
  };
}
