import { type EvictionRequest, CANCELED } from '../../api/eviction-request.ts';
import { EVICT_WANTED_ANNOTATION, IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { type BlockedEviction, budgetCovers, decideWakeUps } from '../../decide/eviction/disruption-budget.ts';
import { decideEvictionOutcome, type EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import { hasCondition } from '../../decide/eviction/request.ts';
import { interceptorEntry } from '../../decide/eviction/heartbeat.ts';
import {
  afterAttempt,
  decideEvictionStep,
  type EvictionMemory,
  type EvictionPatience,
  isEvictOnly,
  isMarked,
  rememberedAttempts,
} from '../../decide/eviction/imperative.ts';
import { othersDeadline } from '../../decide/eviction/interceptor-deadline.ts';
import { askForEviction } from '../../kube/eviction/evictor.ts';
import { createEvictionAttempts } from '../../kube/eviction/memories.ts';
import type { Interceptor, InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';
import { subjectOf } from './reconciler.ts';

/** The interceptor, and the ear by which it learns of changed budgets. */
export interface ImperativeEviction extends Interceptor {
  /** Tells which requests are worth another try now that this PodDisruptionBudget (NAMESPACE/NAME) changed. */
  budgetChanged(key: string): readonly string[];
  /** Requests whose eviction somebody has promised (KEP-1397, pod_evacuations_in_progress). */
  promised(): number;
  /** How many requests anything is remembered of. */
  remembered(): number;
}

/** Makes the interceptor `imperative-eviction.k8s.io` (KEP-4563, "Eviction"): the Eviction API as the last resort. */
export function createImperativeEviction(context: ControllerContext): ImperativeEviction {
  const { client, clock, log, metrics, options } = context;
  const patience: EvictionPatience = { takeOverMs: options.takeOverTimeout, promiseMs: options.promiseTimeout };
  // Own status writes come back as events: the time of the next try keeps them from being tries of their own.
  const memories = createEvictionAttempts(clock);
  /** Requests whose last attempt had no answer: our copy of the pod may not show yet what became of it. */
  const unsure = new Set<string>();

  const attempt = async (pod: Pod, count: number, signal: AbortSignal): Promise<EvictionOutcome> => {
    const answer = await askForEviction(client, pod, graceOptions(context, pod), signal);
    const budgets = context.budgets.list().filter((budget) => budgetCovers(budget, pod));
    return decideEvictionOutcome(answer, {
      attempt: count,
      evictOnly: isEvictOnly(pod),
      promiseWords: options.promiseWords,
      budgets: budgets.map(({ metadata }) => metadata.name).toSorted(),
    });
  };

  const mark = async (pod: Pod, value: 'true' | null, signal: AbortSignal): Promise<void> => {
    // The UID makes the patch fail on a namesake.
    const { uid } = pod.metadata;
    const body = { metadata: { uid, annotations: { [EVICT_WANTED_ANNOTATION]: value } } };
    const path = objectPath(PODS, pod.metadata);
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404, 409], signal);
    log.info({ pod: keyOf(pod), wanted: value === 'true' }, 'told the controller of a pod about its eviction');
  };

  const tell = (request: EvictionRequest, outcome: EvictionOutcome): void => {
    metrics.evictionAttempted(outcome.kind);
    const { name } = request.spec.target.pod;
    log.info({ pod: `${request.metadata.namespace}/${name}`, ...outcome }, 'asked for an eviction');
    if (outcome.kind !== 'blocked') return;
    // Without the count and the numbers, so that it is one event that counts up.
    const which = outcome.budgets.length === 0 ? '' : ` by PodDisruptionBudget ${outcome.budgets.join(', ')}`;
    const message = `The eviction of pod ${name} is blocked${which}.`;
    context.events.record(subjectOf(request), { type: 'Warning', reason: 'EvictionBlocked', message });
  };

  const evict = async (
    request: EvictionRequest,
    pod: Pod,
    count: number,
    signal: AbortSignal,
  ): Promise<InterceptorStep> => {
    unsure.add(keyOf(request));
    const outcome = await attempt(pod, count, signal);
    unsure.delete(keyOf(request));
    tell(request, outcome);
    const now = clock.now();
    const { memory, progress } = afterAttempt(pod, count, outcome, now);
    memories.set(keyOf(request), memory);
    if (progress === undefined) return { kind: 'silent' };
    return { kind: 'working', ...progress, againMs: Math.max(0, memory.nextAt - now) };
  };

  /** No budget stands in the way any more once none of those that did covers the pod, for instance by its new labels. */
  const unblocked = (memory: EvictionMemory, pod: Pod): EvictionMemory => {
    const { namespace } = pod.metadata;
    const budgets = memory.blockedBy.map((name) => context.budgets.get(`${namespace}/${name}`));
    const free = budgets.length > 0 && budgets.every((budget) => budget !== undefined && !budgetCovers(budget, pod));
    return free ? { ...memory, nextAt: 0, blockedBy: [] } : memory;
  };

  const blockedIn = (namespace: string): readonly BlockedEviction[] =>
    memories.list().flatMap(([key, { blockedBy }]) => {
      if (blockedBy.length === 0 || !key.startsWith(`${namespace}/`)) return [];
      const pod = context.pods.get(`${namespace}/${context.requests.get(key)?.spec.target.pod.name ?? ''}`);
      return pod === undefined ? [] : [{ key, pod, blockedBy }];
    });

  const forget = (key: string): void => {
    memories.delete(key);
    unsure.delete(key);
  };

  return {
    name: IMPERATIVE_INTERCEPTOR,
    act: async (request, known, signal) => {
      const key = keyOf(request);
      const read = { method: 'GET', path: objectPath(PODS, known.metadata) } as const;
      const pod = unsure.has(key) ? await sendForObject<Pod>(client, read, [404], signal) : known;
      if (pod === undefined || pod.metadata.uid !== known.metadata.uid) return { kind: 'silent' };
      const now = clock.now();
      const memory = unblocked(memories.get(key) ?? rememberedAttempts(request, pod, now), pod);
      memories.set(key, memory);
      const step = decideEvictionStep(
        { request, pod },
        memory,
        { ...patience, trustUntil: othersDeadline(request) },
        now,
      );
      if (step.kind === 'evict') return await evict(request, pod, step.attempt, signal);
      if (step.kind === 'mark') await mark(pod, 'true', signal);
      const said = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message ?? '';
      if (step.kind === 'wait' && step.idle === true && step.progress.message === said) {
        return { kind: 'silent', againMs: step.againMs };
      }
      return { kind: 'working', ...step.progress, againMs: step.againMs };
    },
    over: async (request, signal) => {
      forget(keyOf(request));
      const pod = context.pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`);
      const same = pod?.metadata.uid === request.spec.target.pod.uid && pod.metadata.deletionTimestamp === undefined;
      if (same && isMarked(pod) && hasCondition(request, CANCELED)) await mark(pod, null, signal);
    },
    gone: forget,
    budgetChanged: (budgetKey) => {
      const [namespace = '', name = ''] = budgetKey.split('/');
      const woken = decideWakeUps(name, context.budgets.get(budgetKey), blockedIn(namespace));
      for (const key of woken) {
        const memory = memories.get(key);
        if (memory !== undefined) memories.set(key, { ...memory, nextAt: 0, blockedBy: [] });
      }
      return woken;
    },
    remembered: () => new Set([...memories.list().map(([key]) => key), ...unsure]).size,
    promised: () => memories.list().filter(([, { promisedAt }]) => promisedAt !== undefined).length,
  };
}
