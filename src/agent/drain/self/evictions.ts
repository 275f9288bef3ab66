import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import type { Pod } from '../../../api/pod.ts';
import { type EvictionOutcome, isApiFailure } from '../../../decide/eviction/api-answer.ts';
import {
  afterAttempt,
  decideEvictionStep,
  type EvictionMemory,
  isEvictOnly,
  isMarked,
  rememberedAttempts,
  withoutPauseIfNotAsked,
  withoutPauseIfUnready,
} from '../../../decide/eviction/imperative.ts';
import type { EvictionSettings } from '../../../decide/eviction/settings.ts';
import { ownRequest } from '../../../decide/eviction/own-request.ts';
import { rfc3339 } from '../../../decide/time.ts';
import { asOfNow, type Moment, momentOf } from '../../../host/clock.ts';
import { attemptToEvict } from '../../../kube/eviction/attempt.ts';
import type { EndOptions } from '../../../kube/eviction/evictor.ts';
import { createEvictionAttempts } from '../../../kube/eviction/attempt-memory.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import { API_SERVER, type Wait, type Waiting, waitOfOutcome } from '../../../decide/node/waits.ts';

/** One pod's eviction: its request, and what a deadline makes of its end. */
interface EvictionScope {
  /** Undefined where the pod has none. */
  readonly request: EvictionRequest | undefined;
  readonly options: EndOptions;
  /** From this time on the pod's own controller is no longer waited for, in milliseconds since the epoch. */
  readonly trustUntil: number | undefined;
  /** Why budgets are not asked for the pods of this node, as a sentence; undefined where they are. */
  readonly whyNotAsked: () => string | undefined;
  /** Called right before the Eviction API is. */
  readonly mayAct: () => Promise<boolean>;
}

/** The evictions of this node's pods while its agent carries them out. */
export interface SelfEvictions {
  /** Takes the next step of one pod's eviction. Throws API_UNREACHABLE. */
  evict(pod: Pod, scope: EvictionScope, signal: AbortSignal): Promise<Waiting>;
  /** What the evictions have come to, by the UIDs of the pods, as the requests of a controller would say it. */
  attempts(pods: readonly Pod[]): ReadonlyMap<string, EvictionRequest>;
  forget(): void;
}

/** What a controller would have written into the interceptor's entry of a request. */
interface OwnEntry {
  readonly message: string;
  /** Who is to act. */
  readonly on: string;
  readonly wait: Wait;
  /** The first attempt. */
  readonly begun: Moment;
}

/**
 * The agent may not read PodDisruptionBudgets, so nothing tells it that one has room again: it asks at least this often. The
 * nodes of a whole cluster may do so at once.
 */
const BUDGET_RETRY_MS = 60_000;
/** What is said of a pod whose mark only a controller could set. */
const UNMARKED = 'is to be left to its controller (ControllerTakeOver), but no nodemaint controller is alive';

/** Tries the eviction once. Throws API_UNREACHABLE. */
async function attempt(
  { client, clock, log }: Pick<ClusterDependencies, 'client' | 'clock' | 'log'>,
  pod: Pod,
  {
    memory,
    options,
    whyNotAsked,
    promiseWords,
  }: Pick<EvictionScope, 'options' | 'whyNotAsked'> &
    Pick<EvictionSettings, 'promiseWords'> & { readonly memory: EvictionMemory },
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const { count, postponed } = memory;
  const context = {
    attempt: count + 1,
    postponed,
    evictOnly: isEvictOnly(pod),
    promiseWords,
    budgets: [],
    budgetRetryMs: BUDGET_RETRY_MS,
  };
  const notAsked = { why: whyNotAsked, now: clock.now() };
  const outcome = await attemptToEvict(client, pod, { options, context, notAsked }, signal);
  log.info({ pod: keyOf(pod), ...outcome }, 'asked for an eviction on own node');
  return outcome;
}

/** Remembers the attempts in memory, by the UID of the pod, until `forget`; `settings` are those of the controller. */
export function createSelfEvictions(
  { client, clock, log }: ClusterDependencies,
  settings: () => EvictionSettings,
): SelfEvictions {
  const memories = createEvictionAttempts(clock);
  const entries = new Map<string, OwnEntry>();

  /** The request of a pod whose eviction this agent has asked for. */
  const ownRequestOf = (pod: Pod): EvictionRequest | undefined => {
    const entry = entries.get(pod.metadata.uid ?? '');
    if (entry === undefined) return undefined;
    return ownRequest(pod, { startedAt: asOfNow(entry.begun, momentOf(clock)), message: entry.message });
  };

  return {
    evict: async (pod, { request, options, trustUntil, mayAct, ...scope }, signal) => {
      const { uid = '' } = pod.metadata;
      const now = clock.now();
      const begun = entries.get(uid)?.begun ?? momentOf(clock);
      const since = asOfNow(begun, momentOf(clock));
      const wait = (message: string, expectedAt?: number): Waiting => {
        const { on = IMPERATIVE_INTERCEPTOR, wait: known = 'api-server' } = entries.get(uid) ?? {};
        const wait = isMarked(pod) ? 'take-over' : known;
        return { wait, what: keyOf(pod), on, message, since, ...(expectedAt === undefined ? {} : { expectedAt }) };
      };
      const own = ownRequestOf(pod) ?? request ?? ownRequest(pod, { startedAt: now, message: '' });
      // Since when a controller that is dead had marked the pod is not known: its own controller has the whole time.
      const first = isMarked(pod) ? { ...rememberedAttempts(own), markedAt: now } : rememberedAttempts(own);
      const known = withoutPauseIfNotAsked(memories.get(uid) ?? first, () => scope.whyNotAsked() !== undefined);
      const memory = withoutPauseIfUnready(known, pod);
      memories.set(uid, memory);
      const step = decideEvictionStep({ request: own, pod }, memory, { ...settings(), trustUntil }, now);
      if (step.kind === 'mark') {
        // The mark is the controller's to write; the time of the pod's own controller begins all the same.
        memories.set(uid, { ...memory, markedAt: memory.markedAt ?? now });
        const until = step.progress.expectedFinishAt ?? now;
        return wait(`${UNMARKED}; it is evicted at ${rfc3339(until)}`, until);
      }
      if (step.kind === 'wait') return wait(step.progress.message, step.progress.expectedFinishAt);
      if (!(await mayAct())) return wait('is left to the nodemaint controller, which is alive again');
      const outcome = await attempt(
        { client, clock, log },
        pod,
        { memory, options, whyNotAsked: scope.whyNotAsked, promiseWords: settings().promiseWords },
        signal,
      );
      const after = afterAttempt(pod, memory, outcome, now);
      const message = after.progress?.message ?? '';
      memories.set(uid, after.memory);
      const on = isApiFailure(outcome) ? API_SERVER : IMPERATIVE_INTERCEPTOR;
      entries.set(uid, { message, begun, on, wait: waitOfOutcome(outcome) });
      return wait(message, after.progress?.expectedFinishAt);
    },
    attempts: (pods) =>
      new Map(
        pods.flatMap((pod) => {
          const own = ownRequestOf(pod);
          return own === undefined ? [] : [[pod.metadata.uid ?? '', own] as const];
        }),
      ),
    forget: () => {
      memories.clear();
      entries.clear();
    },
  };
}
