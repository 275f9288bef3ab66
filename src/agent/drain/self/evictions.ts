import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import type { BlockingPod } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { decideEvictionOutcome } from '../../../decide/eviction/api-answer.ts';
import {
  afterAttempt,
  decideEvictionStep,
  type EvictionMemory,
  isEvictOnly,
  isInBackground,
  movedMemory,
  rememberedAttempts,
} from '../../../decide/eviction/imperative.ts';
import { rfc3339 } from '../../../decide/time.ts';
import { asOfNow, type Moment, momentOf } from '../../../host/clock.ts';
import { askForEviction, type EndOptions } from '../../../kube/eviction/evictor.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { Waiting } from '../../waiting.ts';

/** What a deadline makes of the end of a pod. */
export interface PodEnding {
  readonly options: EndOptions;
  /** When the pod's own controller is trusted with it no longer, in milliseconds since the epoch. */
  readonly trustUntil: number | undefined;
}

/** The evictions of this node's pods while its agent carries them out. */
export interface SelfEvictions {
  /** The next step of one pod's eviction; `mayAct` is asked right before the Eviction API is. */
  evict(
    pod: Pod,
    request: EvictionRequest | undefined,
    end: PodEnding,
    mayAct: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Waiting>;
  /** The pods whose evictions are refused, for the status of a maintenance. */
  blocking(pods: readonly Pod[]): readonly BlockingPod[];
  forget(): void;
}

interface Attempts {
  readonly memory: EvictionMemory;
  readonly message: string;
  readonly since: number;
}

/** The controller's own default settings; an agent does not know those of a controller that is not there. */
const PATIENCE = { takeOverMs: 60_000, promiseMs: 600_000 };
const PROMISE_WORDS = ['Eviction triggered'];

/** Makes the memory of attempts, which is as short as the time without a controller. */
export function createSelfEvictions({ client, clock, log }: ClusterDependencies): SelfEvictions {
  const known = new Map<string, Attempts & { readonly at: Moment }>();

  /** As of the present setting of the clock. */
  const attemptsAt = (uid: string): Attempts | undefined => {
    const noted = known.get(uid);
    if (noted === undefined) return undefined;
    const jumpMs = asOfNow(noted.at, momentOf(clock)) - noted.at.wall;
    return { ...noted, memory: movedMemory(noted.memory, jumpMs), since: noted.since + jumpMs };
  };

  /** The request as the rules take it; of a pod that has none the interceptor's entry is what this memory knows. */
  const requestOf = (
    pod: Pod,
    request: EvictionRequest | undefined,
    attempts: Attempts | undefined,
  ): EvictionRequest => {
    const { name, namespace = 'default', uid = '' } = pod.metadata;
    if (request !== undefined && attempts === undefined) return request;
    const startTime = rfc3339(attempts?.since ?? clock.now());
    const interceptors = [{ name: IMPERATIVE_INTERCEPTOR, startTime, message: attempts?.message ?? '' }];
    return { metadata: { name: uid, namespace }, spec: { target: { pod: { name, uid } } }, status: { interceptors } };
  };

  return {
    evict: async (pod, request, end, mayAct, signal) => {
      const { uid = '' } = pod.metadata;
      const now = clock.now();
      const before = attemptsAt(uid);
      const asked = requestOf(pod, request, before);
      const since = before?.since ?? now;
      const wait = (message: string, expectedAt?: number): Waiting => {
        const on = IMPERATIVE_INTERCEPTOR;
        return { what: keyOf(pod), on, message, since, ...(expectedAt === undefined ? {} : { expectedAt }) };
      };
      const memory = before?.memory ?? rememberedAttempts(asked, pod, now);
      const step = decideEvictionStep(
        { request: asked, pod },
        memory,
        { ...PATIENCE, trustUntil: end.trustUntil },
        now,
      );
      if (step.kind === 'mark')
        return wait('is to be told to its controller (ControllerTakeOver); no controller is alive');
      if (step.kind === 'wait') return wait(step.progress.message, step.progress.expectedFinishAt);
      if (!(await mayAct())) return wait('is left to the controller, which lives again');
      const answer = await askForEviction(client, pod, end.options, signal);
      const context = { attempt: step.attempt, evictOnly: isEvictOnly(pod), promiseWords: PROMISE_WORDS, budgets: [] };
      const outcome = decideEvictionOutcome(answer, context);
      log.info({ pod: keyOf(pod), ...outcome }, 'asked for an eviction on own node');
      const after = afterAttempt(pod, step.attempt, outcome, now);
      const message = after.progress?.message ?? '';
      known.set(uid, { memory: after.memory, message, since, at: momentOf(clock) });
      return wait(message, after.progress?.expectedFinishAt);
    },
    blocking: (pods) =>
      pods.flatMap((pod) => {
        const attempts = attemptsAt(pod.metadata.uid ?? '');
        const refused = attempts !== undefined && attempts.memory.acceptedAt === undefined && attempts.memory.count > 0;
        if (!refused || isInBackground(pod) || pod.metadata.deletionTimestamp !== undefined) return [];
        const { message, since } = attempts;
        const reason = message.includes('PodDisruptionBudget') ? 'PodDisruptionBudget' : 'EvictionRefused';
        const { name, namespace = 'default' } = pod.metadata;
        return [{ namespace, name, reason, message: message.slice(0, 1024), since: rfc3339(since) }];
      }),
    forget: () => {
      known.clear();
    },
  };
}
