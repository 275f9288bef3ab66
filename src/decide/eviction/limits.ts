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

/** A pod that a requester wants evicted. */
export interface EvictionCandidate extends EvictionPlace {
  readonly flight: Flight;
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

/**
 * Splits candidates by the limits (KEP-1397, "Internal counters aware of eviction in progress"): those that have begun come
 * first and are always admitted, the others follow in their order as long as their node and namespace have room.
 * `elsewhere` are evictions in flight beside the candidates.
 */
export function admitEvictions<T extends EvictionCandidate>(
  candidates: readonly T[],
  limits: EvictionLimits,
  elsewhere: readonly EvictionPlace[] = [],
): { readonly admitted: readonly T[]; readonly overLimit: readonly T[] } {
  const perNode = new Map<string, number>();
  const perNamespace = new Map<string, number>();
  const count = ({ node, namespace }: EvictionPlace): void => {
    perNode.set(node, (perNode.get(node) ?? 0) + 1);
    perNamespace.set(namespace, (perNamespace.get(namespace) ?? 0) + 1);
  };
  for (const other of elsewhere) count(other);
  const begun = candidates.filter(({ flight }) => flight !== 'not-begun');
  for (const each of begun) if (each.flight === 'in-flight') count(each);
  const admitted = [...begun];
  const overLimit: T[] = [];
  for (const candidate of candidates) {
    if (candidate.flight !== 'not-begun') continue;
    const onNode = perNode.get(candidate.node) ?? 0;
    const inNamespace = perNamespace.get(candidate.namespace) ?? 0;
    const room =
      onNode < (limits.maxEvictionsPerNode ?? Infinity) && inNamespace < (limits.maxEvictionsPerNamespace ?? Infinity);
    if (!room) {
      overLimit.push(candidate);
      continue;
    }
    count(candidate);
    admitted.push(candidate);
  }
  return { admitted, overLimit };
}
