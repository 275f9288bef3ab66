import type { Pod } from '../../api/pod.ts';
import { GROUPED_BUDGET_RETRY_MS } from '../../decide/eviction/back-off.ts';
import { afterAttempt, NO_ATTEMPT } from '../../decide/eviction/imperative.ts';
import { attemptToEvict } from '../../kube/eviction/attempt.ts';
import { EvictionAttempts } from '../../kube/eviction/attempt-memory.ts';
import type { EvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';

/**
 * Evicts pods of a Workload or PodGroup for drains. An EvictionRequest does not support them (KEP-4563, "Validation"), so each
 * is asked for directly, with a pause that grows. The calls count together with those of `underWay`.
 */
export interface GroupedEvictions {
  /** Tries it unless it has to wait; `refused` says why the pod is still there. Throws API_UNREACHABLE and API_REFUSED. */
  evict(key: string, pod: Pod, signal: AbortSignal): Promise<{ readonly againMs: number; readonly refused?: string }>;
  /** Whether the pod of the key was asked for. */
  hasTried(key: string): boolean;
  /** Forgets the pod of the key, which no drain wants any more. */
  forget(key: string): void;
}

export function createGroupedEvictions(context: ControllerContext, underWay: EvictionConcurrency): GroupedEvictions {
  const { client, clock, log, metrics, budgets } = context;
  const { promiseWords, promiseTimeout } = context.options;
  const memories = new EvictionAttempts(clock);
  const said = new Map<string, { readonly refused?: string }>();
  return {
    evict: async (key, pod, signal) => {
      const memory = memories.get(key) ?? NO_ATTEMPT;
      const { namespace = '', name } = pod.metadata;
      const leftMs = Math.max(memory.nextAt - clock.now(), underWay.pauseMs(namespace));
      if (leftMs > 0) return { againMs: leftMs, ...said.get(key) };
      const given = { budgets: budgets.list(), budgetRetryMs: GROUPED_BUDGET_RETRY_MS, promiseWords };
      const scope = { ...given, memory, options: graceOptions(context, pod) };
      const outcome = await underWay.during(namespace, () => attemptToEvict(client, pod, scope, signal));
      log.info({ pod: `${namespace}/${name}`, ...outcome }, 'asked for an eviction');
      metrics.attempts.inc({ outcome: outcome.kind });
      const now = clock.now();
      const after = afterAttempt(pod, memory, outcome, now);
      const isPromised = outcome.kind === 'promised';
      const nextAt = isPromised ? now + promiseTimeout : after.memory.nextAt;
      memories.set(key, { ...after.memory, nextAt });
      const isRefused = isPromised || outcome.kind === 'blocked';
      const why = isRefused && after.progress !== undefined ? { refused: after.progress.message } : {};
      said.set(key, why);
      return { againMs: nextAt - now, ...why };
    },
    hasTried: (key) => memories.get(key) !== undefined,
    forget: (key) => {
      memories.delete(key);
      said.delete(key);
    },
  };
}
