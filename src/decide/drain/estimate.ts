import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { entryCovers } from '../maintenance/drain-plan.ts';
import { drainPodOf, endOf, graceSecOf } from '../pod.ts';
import { timeOf } from '../time.ts';

/** When a pod is expected to be gone: as its interceptor says, as its deletion says, else after its grace period. */
function expectedEnd(pod: Pod, request: EvictionRequest | undefined, now: number): number {
  const [active] = request?.status?.activeInterceptors ?? [];
  const entry = request?.status?.interceptors?.find(({ name }) => name === active);
  const expectedAt = timeOf(entry?.expectedFinishTime) ?? endOf(pod)?.endsAt;
  return expectedAt !== undefined && expectedAt > now ? expectedAt : now + graceSecOf(pod) * 1000;
}

/** The pods that are left on a node, and their requests. */
interface PodsLeft {
  readonly evicting: readonly Pod[];
  readonly pending: readonly Pod[];
  readonly requestOf: (pod: Pod) => EvictionRequest | undefined;
}

/**
 * When a node is expected to be drained, in milliseconds since the epoch: the last of the pods that are leaving, then for
 * each later entry of the plan the longest grace period of its pods. Budgets and interceptors may make it later.
 */
export function estimateDrain(
  plan: readonly DrainPlanEntry[],
  { evicting, pending, requestOf }: PodsLeft,
  now: number,
): number {
  const tiers = new Map<number, number>();
  for (const pod of pending) {
    const tier = plan.findIndex((entry) => entryCovers(entry, drainPodOf(pod)));
    tiers.set(tier, Math.max(tiers.get(tier) ?? 0, graceSecOf(pod) * 1000));
  }
  const first = evicting.reduce((last, pod) => Math.max(last, expectedEnd(pod, requestOf(pod), now)), now);
  return [...tiers.values()].reduce((sum, ms) => sum + ms, first);
}
