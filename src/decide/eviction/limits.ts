import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { endOf } from '../pod.ts';
import { timeOf } from '../time.ts';
import { isFinished } from './request.ts';

/** KEP-1397: how many evictions may be in flight; absent for as many as one likes. */
interface EvictionLimits {
  readonly maxEvictionsPerNode?: number | undefined;
  readonly maxEvictionsPerNamespace?: number | undefined;
}

/** How far the eviction of a pod is, whoever asked for it. */
export type Flight =
  /** Nobody has asked for it. */
  | 'not-begun'
  /** It is requested, under way in the background, or the pod is terminating. */
  | 'in-flight'
  /** It has been so for too long: it goes on, but leaves its place within the limits to others. */
  | 'overdue';

/** Where a pod is that counts against the limits. */
export interface EvictionPlace {
  readonly node: string;
  readonly namespace: string;
}

/** What is known of the eviction of a pod. */
interface KnownEviction {
  readonly pod: Pod | undefined;
  readonly request: EvictionRequest | undefined;
  /** Since when the pod is annotated as being evicted in the background, in milliseconds since the epoch; undefined where it is not. */
  readonly inBackgroundSince: number | undefined;
}

/**
 * How far the eviction of a pod is (KEP-1397: every existing request counts, and every pod that is annotated as being
 * evicted in the background). What began before `overdueBefore`, in milliseconds since the epoch, is overdue (KEP-1397,
 * "Risks and Mitigations": a TTL).
 */
export function flightOf({ pod, request, inBackgroundSince }: KnownEviction, overdueBefore: number): Flight {
  const isRequested = request !== undefined && !isFinished(request) && (request.spec.requesters ?? []).length > 0;
  const requestedAt = isRequested ? (timeOf(request.metadata.creationTimestamp) ?? Infinity) : undefined;
  const end = pod === undefined ? undefined : endOf(pod);
  const begunAt = [requestedAt, inBackgroundSince, end?.toldAt].filter((at) => at !== undefined);
  if (begunAt.length === 0) return 'not-begun';
  return Math.min(...begunAt) <= overdueBefore ? 'overdue' : 'in-flight';
}

/** How many evictions are in flight on each node and in each namespace (KEP-1397, "Internal counters aware of eviction in progress"). */
export class EvictionCounts {
  readonly #onNode = new Map<string, number>();
  readonly #inNamespace = new Map<string, number>();

  count({ node, namespace }: EvictionPlace): void {
    this.#onNode.set(node, (this.#onNode.get(node) ?? 0) + 1);
    this.#inNamespace.set(namespace, (this.#inNamespace.get(namespace) ?? 0) + 1);
  }

  /** Whether one more eviction may begin there. */
  hasRoom({ node, namespace }: EvictionPlace, limits: EvictionLimits): boolean {
    const { maxEvictionsPerNode = Infinity, maxEvictionsPerNamespace = Infinity } = limits;
    return (
      (this.#onNode.get(node) ?? 0) < maxEvictionsPerNode &&
      (this.#inNamespace.get(namespace) ?? 0) < maxEvictionsPerNamespace
    );
  }
}
