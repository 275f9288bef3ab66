/** The engine of evictions by the Eviction API: what is tried when, and what is said of it, for whoever has pods to evict. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import type { EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import { decideWakeUps } from '../../decide/disruption-budget/covers.ts';
import { interceptorEntry, quietMs } from '../../decide/eviction/heartbeat.ts';
import {
  afterAttempt,
  decideEvictionStep,
  type EvictionMemory,
  type EvictionPatience,
  type EvictionTarget,
  expectedEnd,
  firstMemory,
  markedSince,
  withoutPauseIfUnready,
} from '../../decide/eviction/imperative.ts';
import { othersDeadline } from '../../decide/eviction/heartbeat-deadline.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { keyOf, objectPath, PODS } from '../resource.ts';
import { sendForObject } from '../request.ts';
import type { ObjectCache } from '../watch.ts';
import { attemptToEvict } from './attempt.ts';
import { writeMark } from './evict-mark.ts';
import type { EndOptions } from './evictor.ts';
import type { Interceptor, InterceptorStep } from './interceptor.ts';
import { blockedIn, EvictionAttempts, unblocked } from './attempt-memory.ts';
import type { EvictionConcurrency } from './concurrency.ts';

/** What the engine works with. */
interface EngineParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** The request of a key. */
  readonly request: (key: string) => EvictionRequest | undefined;
  /** Our copies, by NAMESPACE/NAME. */
  readonly pods: { get(key: string): Pod | undefined };
  readonly budgets: Pick<ObjectCache<PodDisruptionBudget>, 'get' | 'list'>;
  /** Called with what became of each attempt. */
  readonly onAttempt: (request: EvictionRequest, outcome: EvictionOutcome) => void;
  /** The calls of all engines of this process. */
  readonly underWay: EvictionConcurrency;
  readonly patience: Pick<EvictionPatience, 'takeOverMs' | 'promiseMs'>;
  /** Words in a 429 that tell a promised eviction from a refused one (KEP-1397). */
  readonly promiseWords: readonly string[];
  /** What is asked for beside the end of the pod. */
  readonly endOptions: (pod: Pod) => EndOptions;
  /** A step in place of one that is not to wait; undefined where none is. */
  readonly instead: (target: EvictionTarget) => InterceptorStep | undefined;
}

/** Our copy of a pod shows a mark within this time. */
const MARK_SEEN_MS = 2_000;

/** The engine as an interceptor, which also learns of changed budgets. */
export interface EvictionEngine extends Interceptor {
  /** The requests that are worth another attempt after this PodDisruptionBudget (NAMESPACE/NAME) has changed. */
  budgetChanged(key: string): readonly string[];
  /** The keys of the requests whose eviction is promised (KEP-1397, pod_evacuations_in_progress). */
  promised(): readonly string[];
  /** The number of requests of which anything is remembered. */
  remembered(): number;
}

/** The memory of the engine, by the key of the request. */
interface EngineMemory {
  // Own status writes come back as events: the time of the next attempt keeps them from being attempts of their own.
  readonly memories: EvictionAttempts;
  /** Requests whose last attempt had no answer: our copy of the pod may not show yet what became of it. */
  readonly unsure: Set<string>;
}

async function evict(
  parts: EngineParts,
  { memories, unsure }: EngineMemory,
  { request, pod, memory: before }: EvictionTarget & { readonly memory: EvictionMemory },
  signal: AbortSignal,
): Promise<InterceptorStep> {
  const key = keyOf(request);
  const { namespace = '' } = pod.metadata;
  const pauseMs = parts.underWay.pauseMs(namespace);
  if (pauseMs > 0) return { kind: 'silent', againMs: pauseMs };
  unsure.add(key);
  const { client, promiseWords } = parts;
  const scope = { memory: before, options: parts.endOptions(pod), promiseWords, budgets: parts.budgets.list() };
  const outcome = await parts.underWay.during(namespace, () => attemptToEvict(client, pod, scope, signal));
  // A webhook may say that there is no such pod: it is read before anything else is done about it.
  if (outcome.kind !== 'gone') unsure.delete(key);
  parts.log.info({ pod: targetKeyOf(request), ...outcome }, 'asked for an eviction');
  parts.onAttempt(request, outcome);
  const now = parts.clock.now();
  const { memory, progress } = afterAttempt(pod, before, outcome, now);
  memories.set(key, memory);
  const againMs = Math.max(0, memory.nextAt - now);
  const silentMs = quietMs(request, IMPERATIVE_INTERCEPTOR, expectedEnd(pod, memory), now);
  if (silentMs > 0) return { kind: 'silent', againMs: Math.min(againMs, silentMs) };
  return progress === undefined ? { kind: 'silent', againMs } : { kind: 'working', ...progress, againMs };
}

function patienceOf({ patience }: EngineParts, request: EvictionRequest): EvictionPatience {
  return { ...patience, trustUntil: othersDeadline(request) };
}

/**
 * Marks a pod for its controller, unless it was marked a moment ago: our copy shows a mark soon. One that it does not show then
 * was taken back, as for an older request of the pod.
 */
async function keepMarked(
  parts: EngineParts,
  memories: EvictionAttempts,
  { key, pod, memory }: { readonly key: string; readonly pod: Pod; readonly memory: EvictionMemory },
  signal: AbortSignal,
): Promise<void> {
  const now = parts.clock.now();
  if (now < (memory.markedAt ?? -Infinity) + MARK_SEEN_MS) return;
  await writeMark(parts, pod, 'set', signal);
  memories.set(key, { ...memory, markedAt: memory.markedAt ?? now });
}

/** One step of the interceptor; `known` is our copy of the pod. */
async function act(
  parts: EngineParts,
  state: EngineMemory,
  { request, pod: known }: EvictionTarget,
  signal: AbortSignal,
): Promise<InterceptorStep> {
  const { client, clock, patience } = parts;
  const { memories, unsure } = state;
  const key = keyOf(request);
  const read = { method: 'GET', path: objectPath(PODS, known.metadata) } as const;
  const pod = unsure.has(key) ? await sendForObject<Pod>(client, read, [404], signal) : known;
  if (pod === undefined || pod.metadata.uid !== known.metadata.uid) return { kind: 'silent' };
  const now = clock.now();
  const target = { request, pod };
  const attempts = memories.get(key) ?? firstMemory(target, parts.budgets.list(), now);
  const remembered = unblocked(parts, attempts, pod);
  const markedAt = markedSince(target, remembered, patience.takeOverMs, now);
  const memory = { ...withoutPauseIfUnready(remembered, pod), ...(markedAt === undefined ? {} : { markedAt }) };
  memories.set(key, memory);
  const step = decideEvictionStep(target, memory, patienceOf(parts, request), now);
  const other = step.kind === 'wait' ? undefined : parts.instead(target);
  if (other !== undefined) return other;
  if (step.kind === 'evict') return await evict(parts, state, { request, pod, memory }, signal);
  const againMs = step.kind === 'mark' ? Math.min(step.againMs, MARK_SEEN_MS) : step.againMs;
  if (step.kind === 'mark') await keepMarked(parts, memories, { key, pod, memory }, signal);
  const silentMs = quietMs(request, IMPERATIVE_INTERCEPTOR, expectedEnd(pod, memory), now);
  if (silentMs > 0) return { kind: 'silent', againMs: Math.min(againMs, silentMs) };
  const said = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message ?? '';
  if (step.kind === 'wait' && step.idle === true && step.progress.message === said) {
    return { kind: 'silent', againMs };
  }
  return { kind: 'working', ...step.progress, againMs };
}

/** Creates the engine (KEP-4563, "Eviction"): the Eviction API as the last resort. */
export function createEvictionEngine(parts: EngineParts): EvictionEngine {
  const memories = new EvictionAttempts(parts.clock);
  const unsure = new Set<string>();
  return {
    name: IMPERATIVE_INTERCEPTOR,
    act: (request, pod, signal) => act(parts, { memories, unsure }, { request, pod }, signal),
    over: (request) => {
      memories.delete(keyOf(request));
      unsure.delete(keyOf(request));
      return Promise.resolve();
    },
    budgetChanged: (budgetKey) => {
      const [namespace = '', name = ''] = budgetKey.split('/');
      const woken = decideWakeUps(
        name,
        parts.budgets.get(budgetKey),
        blockedIn({ ...parts, patienceOf: (request) => patienceOf(parts, request) }, memories, namespace),
      );
      for (const key of woken) {
        const memory = memories.get(key);
        if (memory !== undefined) memories.set(key, { ...memory, nextAt: 0, blockedBy: [] });
      }
      return woken;
    },
    remembered: () => new Set([...memories.list().map(([key]) => key), ...unsure]).size,
    promised: () => memories.list().flatMap(([key, { promisedAt }]) => (promisedAt === undefined ? [] : [key])),
  };
}
