/** KEP-1397: how many evictions a requester may have in flight; absent for as many as it likes. */
export interface EvictionLimits {
  readonly maxEvictionsPerNode?: number | undefined;
  readonly maxEvictionsPerNamespace?: number | undefined;
}

/** A pod that a requester wants evicted. */
export interface EvictionCandidate {
  readonly node: string;
  readonly namespace: string;
  /** Whether its eviction is requested already, or under way in the background. */
  readonly inProgress: boolean;
}

/**
 * Splits candidates by the limits (KEP-1397, "Internal counters aware of eviction in progress"): those in progress come
 * first and are always admitted, the others follow in their order as long as their node and namespace have room.
 * `elsewhere` are evictions that the requester has in flight beside the candidates.
 */
export function admitEvictions<T extends EvictionCandidate>(
  candidates: readonly T[],
  limits: EvictionLimits,
  elsewhere: readonly Pick<EvictionCandidate, 'node' | 'namespace'>[] = [],
): { readonly admitted: readonly T[]; readonly overLimit: readonly T[] } {
  const perNode = new Map<string, number>();
  const perNamespace = new Map<string, number>();
  const count = ({ node, namespace }: Pick<EvictionCandidate, 'node' | 'namespace'>): void => {
    perNode.set(node, (perNode.get(node) ?? 0) + 1);
    perNamespace.set(namespace, (perNamespace.get(namespace) ?? 0) + 1);
  };
  for (const other of elsewhere) count(other);
  const admitted: T[] = [];
  const overLimit: T[] = [];
  for (const candidate of candidates.toSorted((a, b) => Number(b.inProgress) - Number(a.inProgress))) {
    const onNode = perNode.get(candidate.node) ?? 0;
    const inNamespace = perNamespace.get(candidate.namespace) ?? 0;
    const room =
      onNode < (limits.maxEvictionsPerNode ?? Infinity) && inNamespace < (limits.maxEvictionsPerNamespace ?? Infinity);
    if (!candidate.inProgress && !room) {
      overLimit.push(candidate);
      continue;
    }
    count(candidate);
    admitted.push(candidate);
  }
  return { admitted, overLimit };
}
