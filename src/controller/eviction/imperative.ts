import type { EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { type BlockedEviction, budgetCovers, decideWakeUps } from '../../decide/eviction/disruption-budget.ts';
import type { EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { interceptorEntry, quietMs } from '../../decide/eviction/heartbeat.ts';
import {
  afterAttempt,
  decideEvictionStep,
  expectedEnd,
  type EvictionMemory,
  type EvictionPatience,
  type EvictionTarget,
  markedSince,
  rememberedAttempts,
  withoutPauseIfNotAsked,
  withoutPauseIfUnready,
} from '../../decide/eviction/imperative.ts';
import { othersDeadline } from '../../decide/eviction/interceptor-deadline.ts';
import { createEvictionAttempts, type EvictionAttempts } from '../../kube/eviction/memories.ts';
import type { Interceptor, InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { attemptEviction } from './attempt.ts';
import { type CallsUnderWay, createCallsUnderWay } from './under-way.ts';
import { LAST_REPLICA_MS, neededOn } from './last-replica.ts';
import { writeMark } from './marks.ts';
import { actsOutOfTurn, isAskedInVain } from './out-of-turn.ts';
import { subjectOf } from './reconciler.ts';

/** A drain whose targets our copy does not show yet is seen within this time. */
const UNWANTED_AGAIN_MS = 1_000;

/** The interceptor, which also learns of changed budgets. */
export interface ImperativeEviction extends Interceptor {
  /** The requests that are worth another attempt after this PodDisruptionBudget (NAMESPACE/NAME) has changed. */
  budgetChanged(key: string): readonly string[];
  /** The keys of the requests whose eviction is promised (KEP-1397, pod_evacuations_in_progress). */
  promised(): readonly string[];
  /** The number of requests of which anything is remembered. */
  remembered(): number;
  /**
   * Asks the API server whether it would evict the pod, without doing it; `memory` has the trials before this one. Waits while
   * too many calls for pods of its namespace are under way. Throws API_UNREACHABLE.
   */
  tryOut(pod: Pod, memory: EvictionMemory, signal: AbortSignal): Promise<EvictionOutcome>;
  /** Whether the last attempt at the request of this key was accepted. */
  isAccepted(key: string): boolean;
}

/** What the dialects do differently. */
export interface ImperativeHabits {
  /** What is known of the attempts at a request when a process starts. */
  readonly remember: (request: EvictionRequest, now: number) => EvictionMemory;
  /** For how many milliseconds the end of a pod need not be reported. */
  readonly quietMs: typeof quietMs;
}

/** So often it is looked whether the budgets that block a pod of a machine that goes down are still asked. */
const BUDGET_AGAIN_MS = 5_000;

/** So often it is looked whether other nodes still need the last replica. */
const STAYS_AGAIN_MS = 1_000;

const HABITS: ImperativeHabits = { remember: rememberedAttempts, quietMs };

/** The memory of the interceptor, by the key of the request. */
interface EvictionState {
  // Own status writes come back as events: the time of the next attempt keeps them from being attempts of their own.
  readonly memories: EvictionAttempts;
  /** Requests whose last attempt had no answer: our copy of the pod may not show yet what became of it. */
  readonly unsure: Set<string>;
  readonly underWay: CallsUnderWay;
  /** Since when the last replica of the controller stays for others, on the monotonic clock. */
  readonly stays: Map<string, number>;
  readonly habits: ImperativeHabits;
}

/** Counts and logs an attempt; a blocked one becomes an Event too. */
function record({ metrics, log, events }: ControllerContext, request: EvictionRequest, outcome: EvictionOutcome): void {
  metrics.evictionAttempted(outcome.kind);
  const { name } = request.spec.target.pod;
  log.info({ pod: targetKeyOf(request), ...outcome }, 'asked for an eviction');
  if (outcome.kind === 'budget-not-asked') {
    const message = `Pod ${name} ends by its own grace period. ${outcome.why}`;
    events.record(subjectOf(request), { type: 'Warning', reason: 'BudgetNotAsked', message });
  }
  if (outcome.kind !== 'blocked') return;
  // Without the count and the numbers, so that it is one event that counts up.
  const which = outcome.budgets.length === 0 ? '' : ` by PodDisruptionBudget ${outcome.budgets.join(', ')}`;
  const message = `The eviction of pod ${name} is blocked${which}.`;
  events.record(subjectOf(request), { type: 'Warning', reason: 'EvictionBlocked', message });
}

async function evict(
  context: ControllerContext,
  { memories, unsure, underWay, habits }: EvictionState,
  { request, pod, memory: before }: EvictionTarget & { readonly memory: EvictionMemory },
  signal: AbortSignal,
): Promise<InterceptorStep> {
  const key = keyOf(request);
  const { namespace = '' } = pod.metadata;
  const pauseMs = underWay.pauseMs(namespace, context.requests.isFirstOfNode(key));
  if (pauseMs > 0) return { kind: 'silent', againMs: pauseMs };
  unsure.add(key);
  const { outcome } = await underWay.during(namespace, () =>
    attemptEviction(context, { pod, memory: before, isTrial: false }, signal),
  );
  // A webhook may say that there is no such pod: it is read before anything else is done about it.
  if (outcome.kind !== 'gone') unsure.delete(key);
  record(context, request, outcome);
  const now = context.clock.now();
  const { memory, progress } = afterAttempt(pod, before, outcome, now);
  memories.set(key, memory);
  const againMs = atMost(context, { pod, memory }, Math.max(0, memory.nextAt - now));
  const silentMs = habits.quietMs(request, IMPERATIVE_INTERCEPTOR, expectedEnd(pod, memory), now);
  if (silentMs > 0) return { kind: 'silent', againMs: Math.min(againMs, silentMs) };
  return progress === undefined ? { kind: 'silent', againMs } : { kind: 'working', ...progress, againMs };
}

/** When the pod is looked at again at the latest: the nodes that its budgets go by may change without an event of the pod. */
function atMost(
  { budgetRule }: ControllerContext,
  { pod, memory }: { readonly pod: Pod; readonly memory: EvictionMemory },
  againMs: number,
): number {
  return memory.byBudget === true && budgetRule.mayChange(pod) ? Math.min(againMs, BUDGET_AGAIN_MS) : againMs;
}

/** The memory without its budgets where none of them covers the pod any more, for instance because of new labels. */
function unblocked(context: ControllerContext, memory: EvictionMemory, pod: Pod): EvictionMemory {
  const { namespace } = pod.metadata;
  const budgets = memory.blockedBy.map((name) => context.budgets.get(`${namespace}/${name}`));
  const free = budgets.length > 0 && budgets.every((budget) => budget !== undefined && !budgetCovers(budget, pod));
  return free ? { ...memory, nextAt: 0, blockedBy: [] } : memory;
}

/**
 * The evictions of the namespace that a budget has blocked and that would be tried now but for their pause. Others need no
 * room: their pod is terminating, or it is left to its controller or to an eviction in the background.
 */
function blockedIn(
  context: ControllerContext,
  memories: EvictionAttempts,
  namespace: string,
): readonly BlockedEviction[] {
  return memories.list().flatMap(([key, memory]) => {
    const { blockedBy } = memory;
    if (blockedBy.length === 0 || !key.startsWith(`${namespace}/`)) return [];
    const request = context.requests.get(key);
    const pod = context.pods.get(`${namespace}/${request?.spec.target.pod.name ?? ''}`);
    if (request === undefined || pod === undefined) return [];
    const patience = patienceOf(context, request);
    const step = decideEvictionStep({ request, pod }, { ...memory, nextAt: 0 }, patience, context.clock.now());
    return step.kind === 'evict' ? [{ key, pod, blockedBy }] : [];
  });
}

function patienceOf({ options }: ControllerContext, request: EvictionRequest): EvictionPatience {
  const { takeOverTimeout: takeOverMs, promiseTimeout: promiseMs } = options;
  return { takeOverMs, promiseMs, trustUntil: othersDeadline(request) };
}

/** The step of the last replica of the controller while other nodes still need it; undefined for any other pod. */
function stayForOthers(
  context: ControllerContext,
  { stays }: EvictionState,
  { request, pod }: EvictionTarget,
): InterceptorStep | undefined {
  const node = neededOn(context, pod);
  if (node === undefined) return undefined;
  const now = context.clock.monotonic();
  const key = keyOf(request);
  const since = stays.get(key) ?? now;
  stays.set(key, since);
  const leftMs = since + LAST_REPLICA_MS - now;
  if (leftMs <= 0) return undefined;
  const message = `The last replica of the nodemaint controller stays for pods of node ${node}.`;
  return { kind: 'working', message, expectedFinishAt: context.clock.now() + leftMs, againMs: STAYS_AGAIN_MS };
}

/** One turn of the interceptor; `known` is our copy of the pod. */
async function act(
  context: ControllerContext,
  state: EvictionState,
  { request, pod: known }: EvictionTarget,
  signal: AbortSignal,
): Promise<InterceptorStep> {
  const { client, clock, options } = context;
  const { memories, unsure, habits } = state;
  const key = keyOf(request);
  const read = { method: 'GET', path: objectPath(PODS, known.metadata) } as const;
  const pod = unsure.has(key) ? await sendForObject<Pod>(client, read, [404], signal) : known;
  if (pod === undefined || pod.metadata.uid !== known.metadata.uid) return { kind: 'silent' };
  const now = clock.now();
  const remembered = unblocked(context, memories.get(key) ?? habits.remember(request, now), pod);
  const markedAt = markedSince({ request, pod }, remembered, options.takeOverTimeout, now);
  const ready = withoutPauseIfNotAsked(remembered, () => context.budgetRule.whyNotAsked(pod) !== undefined);
  const memory = { ...withoutPauseIfUnready(ready, pod), ...(markedAt === undefined ? {} : { markedAt }) };
  memories.set(key, memory);
  const step = decideEvictionStep({ request, pod }, memory, patienceOf(context, request), now);
  // A drain may have ended while no controller ran.
  if (step.kind !== 'wait' && isAskedInVain(context, { request, pod }))
    return { kind: 'silent', againMs: UNWANTED_AGAIN_MS };
  if (step.kind === 'evict') {
    const staying = stayForOthers(context, state, { request, pod });
    return staying ?? (await evict(context, state, { request, pod, memory }, signal));
  }
  const againMs = atMost(context, { pod, memory }, step.againMs);
  if (step.kind === 'mark' && memory.markedAt === undefined) {
    await writeMark(context, pod, 'set', signal);
    memories.set(key, { ...memory, markedAt: now });
  }
  const silentMs = habits.quietMs(request, IMPERATIVE_INTERCEPTOR, expectedEnd(pod, memory), now);
  if (silentMs > 0) return { kind: 'silent', againMs: Math.min(againMs, silentMs) };
  const said = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message ?? '';
  if (step.kind === 'wait' && step.idle === true && step.progress.message === said) {
    return { kind: 'silent', againMs };
  }
  return { kind: 'working', ...step.progress, againMs };
}

/**
 * Creates the interceptor `imperative-eviction.k8s.io` (KEP-4563, "Eviction"): the Eviction API as the last resort. `underWay`
 * counts the calls together with those of others who have it too.
 */
export function createImperativeEviction(
  context: ControllerContext,
  habits: ImperativeHabits = HABITS,
  underWay: CallsUnderWay = createCallsUnderWay(context.clock),
): ImperativeEviction {
  const memories = createEvictionAttempts(context.clock);
  const unsure = new Set<string>();
  const stays = new Map<string, number>();
  const forget = (key: string): void => {
    stays.delete(key);
    memories.delete(key);
    unsure.delete(key);
  };
  return {
    name: IMPERATIVE_INTERCEPTOR,
    actsOutOfTurn: (request, pod) => actsOutOfTurn(context, 'Default', { request, pod }),
    act: (request, pod, signal) =>
      act(context, { memories, unsure, underWay, stays, habits }, { request, pod }, signal),
    over: (request) => {
      forget(keyOf(request));
      return Promise.resolve();
    },
    budgetChanged: (budgetKey) => {
      const [namespace = '', name = ''] = budgetKey.split('/');
      const woken = decideWakeUps(name, context.budgets.get(budgetKey), blockedIn(context, memories, namespace));
      for (const key of woken) {
        const memory = memories.get(key);
        if (memory !== undefined) memories.set(key, { ...memory, nextAt: 0, blockedBy: [] });
      }
      return woken;
    },
    tryOut: async (pod, memory, signal) => {
      const { namespace = '' } = pod.metadata;
      for (let ms = underWay.pauseMs(namespace, false); ms > 0; ms = underWay.pauseMs(namespace, false)) {
        await context.clock.sleep(ms, signal);
      }
      const trial = { pod, memory, isTrial: true };
      return (await underWay.during(namespace, () => attemptEviction(context, trial, signal))).outcome;
    },
    isAccepted: (key) => memories.get(key)?.acceptedAt !== undefined,
    remembered: () => new Set([...memories.list().map(([key]) => key), ...unsure]).size,
    promised: () => memories.list().flatMap(([key, { promisedAt }]) => (promisedAt === undefined ? [] : [key])),
  };
}
