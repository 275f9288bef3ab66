import type { EvictionRequest } from '../../api/eviction-request.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';

/** Finds EvictionRequests, by their keys, for the pod and for the node of the target. */
export interface RequestIndex {
  /** Notes a request that came, changed or, where there is none, went. */
  note(key: string, request: EvictionRequest | undefined): void;
  /** Those of a pod, by its NAMESPACE/NAME. */
  ofPod(podKey: string): readonly string[];
  /** The NAMESPACE/NAME of the pod of the request of this key, as it was noted last. */
  podOf(key: string): string | undefined;
  /** Those that have the label of the node. */
  onNode(nodeName: string): readonly string[];
}

/** Keys under one value each, such as requests under their node. */
interface Grouping {
  move(key: string, value: string | undefined): void;
  valueOf(key: string): string | undefined;
  under(value: string): readonly string[];
}

function createGrouping(): Grouping {
  const keysOf = new Map<string, Set<string>>();
  const valueOf = new Map<string, string>();
  return {
    move: (key, value) => {
      const before = valueOf.get(key);
      if (before === value) return;
      if (before !== undefined) {
        const keys = keysOf.get(before);
        keys?.delete(key);
        if (keys?.size === 0) keysOf.delete(before);
        valueOf.delete(key);
      }
      if (value === undefined) return;
      valueOf.set(key, value);
      keysOf.set(value, (keysOf.get(value) ?? new Set()).add(key));
    },
    valueOf: (key) => valueOf.get(key),
    under: (value) => [...(keysOf.get(value) ?? [])],
  };
}

export function createRequestIndex(): RequestIndex {
  const byPod = createGrouping();
  const byNode = createGrouping();
  return {
    note: (key, request) => {
      byPod.move(key, request === undefined ? undefined : targetKeyOf(request));
      byNode.move(key, request === undefined ? undefined : requestNodeOf(request.metadata));
    },
    ofPod: (podKey) => byPod.under(podKey),
    podOf: (key) => byPod.valueOf(key),
    onNode: (nodeName) => byNode.under(nodeName),
  };
}
