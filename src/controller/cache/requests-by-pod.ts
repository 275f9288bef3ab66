import type { EvictionRequest } from '../../api/eviction-request.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';

/** Finds the EvictionRequests of a pod by its NAMESPACE/NAME. */
export interface RequestIndex {
  /** Notes a request that came, changed or, where there is none, went. */
  note(key: string, request: EvictionRequest | undefined): void;
  requestsOf(podKey: string): readonly string[];
  /** The pod of the request of this key, NAMESPACE/NAME, as it was noted last. */
  podOf(key: string): string | undefined;
}

export function createRequestIndex(): RequestIndex {
  const requestsOfPod = new Map<string, Set<string>>();
  const podOfRequest = new Map<string, string>();
  return {
    note: (key, request) => {
      if (request === undefined) {
        const podKey = podOfRequest.get(key) ?? '';
        const known = requestsOfPod.get(podKey);
        known?.delete(key);
        if (known?.size === 0) requestsOfPod.delete(podKey);
        podOfRequest.delete(key);
        return;
      }
      const podKey = targetKeyOf(request);
      podOfRequest.set(key, podKey);
      const known = requestsOfPod.get(podKey) ?? new Set();
      requestsOfPod.set(podKey, known.add(key));
    },
    podOf: (key) => podOfRequest.get(key),
    requestsOf: (podKey) => [...(requestsOfPod.get(podKey) ?? [])],
  };
}
