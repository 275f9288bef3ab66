import type { Pod } from '../../api/pod.ts';
import { isTerminal } from '../../decide/pod.ts';

/** The keys of the pods on each node that have not ended. */
export interface PodIndex {
  /**
   * Notes a pod that came, changed or, where there is none, went. Returns the nodes that it was the last pod to leave or the
   * first one to come to.
   */
  note(key: string, pod: Pod | undefined): readonly string[];
  isEmpty(node: string): boolean;
}

export function createPodIndex(): PodIndex {
  const nodeOfPod = new Map<string, string>();
  const podsOfNode = new Map<string, Set<string>>();
  return {
    note: (key, pod) => {
      const before = nodeOfPod.get(key);
      const after = pod === undefined || isTerminal(pod) ? undefined : pod.spec.nodeName;
      if (before === after) return [];
      const changed: string[] = [];
      if (before !== undefined) {
        const pods = podsOfNode.get(before);
        pods?.delete(key);
        if (pods?.size === 0 && podsOfNode.delete(before)) changed.push(before);
      }
      if (after === undefined) {
        nodeOfPod.delete(key);
        return changed;
      }
      nodeOfPod.set(key, after);
      const pods = podsOfNode.get(after);
      if (pods !== undefined) {
        pods.add(key);
        return changed;
      }
      podsOfNode.set(after, new Set([key]));
      return [...changed, after];
    },
    isEmpty: (node) => !podsOfNode.has(node),
  };
}
