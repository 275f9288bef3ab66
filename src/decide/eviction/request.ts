import {
  CANCELED,
  DELETED,
  EVICTED,
  type EvictionRequest,
  type EvictionRequestStatus,
  type InterceptorStatus,
  NO_REQUESTERS,
  PROGRESSING,
  VALIDATION_FAILED,
} from '../../api/eviction-request.ts';
import type { Condition } from '../../api/meta.ts';
import {
  CONTROLLER_TAKE_OVER,
  DEFAULT_POLICY,
  EVICT_POLICY_ANNOTATION,
  MAINTENANCE_UID_LABEL,
} from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { isInPodGroup, isTerminal } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';
import { giveWayAt } from './heartbeat-deadline.ts';
import { interceptorsOf } from './interceptors.ts';
import { credibleAt, trustedEntry } from './trusted-times.ts';

/** Replaces or adds one condition and keeps the order; `at` is its lastTransitionTime, in milliseconds since the epoch. */
function withCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, 'lastTransitionTime'>,
  at: number,
): readonly Condition[] {
  const fresh: Condition = { ...condition, lastTransitionTime: rfc3339(at) };
  const known = conditions.some(({ type }) => type === condition.type);
  return known ? conditions.map((old) => (old.type === condition.type ? fresh : old)) : [...conditions, fresh];
}

/** An Event on a request, for what people should know of it. */
interface EvictionEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What the EvictionRequest controller writes, if anything, the Events that it records, and when it has to decide again. */
export interface EvictionDecision {
  /** The fields of the status that change; absent where nothing does. */
  readonly status?: EvictionRequestStatus;
  readonly events: readonly EvictionEvent[];
  /** Milliseconds until the active interceptor's deadline; absent where none runs. */
  readonly againMs?: number;
}

/** The key of the pod that a request targets: NAMESPACE/NAME. */
export function targetKeyOf(request: EvictionRequest): string {
  return `${request.metadata.namespace}/${request.spec.target.pod.name}`;
}

/** Whether a condition is True on the request. */
export function hasCondition(request: EvictionRequest, type: string): boolean {
  return (
    request.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true
  );
}

/** Whether the request is over: its pod evicted, or itself canceled (KEP-4563, "EvictionRequest Completion"). */
export function isFinished(request: EvictionRequest): boolean {
  return hasCondition(request, EVICTED) || hasCondition(request, CANCELED);
}

/** Whether a drain made the request, or joined it, then its pod was there. No other requester writes the label. */
export function isMadeByDrain({ metadata }: EvictionRequest): boolean {
  return metadata.labels?.[MAINTENANCE_UID_LABEL] !== undefined;
}

/** Milliseconds since the epoch at which the request came to its end; undefined while it has not. */
export function finishedAt(request: EvictionRequest): number | undefined {
  const end = request.status?.conditions?.find(({ type, status }) => {
    return (type === EVICTED || type === CANCELED) && status === 'True';
  });
  return end === undefined ? undefined : (timeOf(end.lastTransitionTime) ?? 0);
}

function observed(request: EvictionRequest): EvictionDecision {
  const generation = request.metadata.generation ?? 0;
  return request.status?.observedGeneration === generation
    ? { events: [] }
    : { status: { observedGeneration: generation }, events: [] };
}

/** Sets Progressing, whose time is that of the last activation or, when nobody is active any more, of its end. */
function progressing(conditions: readonly Condition[], reason: string, message: string, now: number): Condition[] {
  const status = reason === 'InterceptorActive' ? 'True' : 'False';
  return [...withCondition(conditions, { type: PROGRESSING, status, reason, message }, now)];
}

/** The list is a set to the API server: one name twice would make it refuse the whole status. */
function withProcessed(processed: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...processed, ...more])];
}

/** The end of a request: the condition that becomes True. */
interface EvictionEnd {
  readonly type: typeof EVICTED | typeof CANCELED;
  readonly reason: string;
  readonly message: string;
}

function finish(request: EvictionRequest, { type, reason, message }: EvictionEnd, now: number): EvictionDecision {
  const { activeInterceptors = [], processedInterceptors = [], conditions = [] } = request.status ?? {};
  return {
    status: {
      observedGeneration: request.metadata.generation ?? 0,
      conditions: withCondition(
        progressing(conditions, reason, message, now),
        { type, status: 'True', reason, message },
        now,
      ),
      activeInterceptors: [],
      processedInterceptors: withProcessed(processedInterceptors, activeInterceptors),
    },
    // The usual course of things is in the status; an Event for each step of each pod would be most of a drain's writes.
    events:
      type === EVICTED ? [] : [{ type: reason === VALIDATION_FAILED ? 'Warning' : 'Normal', reason: type, message }],
  };
}

/**
 * When the active interceptor was last heard of: its heartbeat, else its activation, else the creation, in milliseconds since
 * the epoch; a request without any of them has just begun, at `now`.
 */
export function lastHeard(request: EvictionRequest, entry: InterceptorStatus | undefined, now: number): number {
  const activated = request.status?.conditions?.find(({ type, status }) => type === PROGRESSING && status === 'True');
  const since = timeOf(activated?.lastTransitionTime) ?? timeOf(request.metadata.creationTimestamp) ?? now;
  return Math.max(since, timeOf(entry?.heartbeatTime) ?? since);
}

/** Why an interceptor that has not completed gives way. */
const SILENT = { reason: 'HeartbeatTimeout', message: 'gave no sign of life for 20 minutes.' } as const;
const LATE = { reason: 'InterceptorDeadline', message: 'has no more time before the deadline of the node.' } as const;

function activeMessage(name: string, index: number, count: number): string {
  return `${name} is the active interceptor (${index + 1} of ${count}).`;
}

/** Passes control on (KEP-4563, "Interceptor Selection"), one place a call, when the active one completed, went silent or is out of time. */
function rotate(request: EvictionRequest, now: number): EvictionDecision {
  const { targetInterceptors = [], processedInterceptors = [], interceptors = [] } = request.status ?? {};
  const { conditions = [], activeInterceptors = [] } = request.status ?? {};
  const active = activeInterceptors[0];
  if (active === undefined) return observed(request);
  const entry = interceptors.find(({ name }) => name === active);
  const trusted = entry === undefined ? undefined : trustedEntry(entry, now);
  const completed = trusted?.completionTime !== undefined;
  const giveWay = giveWayAt(request, active, lastHeard(request, trusted, now));
  const credible = entry === undefined || completed ? undefined : credibleAt(entry, now);
  // An interceptor whose clock is a little ahead gives a sign of life all the same; a deadline waits for nobody.
  const isWaitedFor = credible !== undefined && giveWay.why === 'silent';
  if (!completed && (now < giveWay.at || isWaitedFor)) {
    const at = Math.min(credible ?? Infinity, now < giveWay.at ? giveWay.at : Infinity);
    return { ...observed(request), againMs: at - now };
  }
  const index = targetInterceptors.findIndex(({ name }) => name === active);
  const next = targetInterceptors[index + 1];
  // The last interceptor has nobody to pass to: it stays, and goes on trying, unless it has withdrawn.
  if (next === undefined && !completed) return observed(request);
  const late = giveWay.why === 'deadline' ? LATE : SILENT;
  const why = completed ? `${active} has completed.` : `${active} ${late.message}`;
  const message =
    next === undefined
      ? `${why} No interceptor is left, and the pod is still there.`
      : `${activeMessage(next.name, index + 1, targetInterceptors.length)} ${why}`;
  const reason = next === undefined ? 'NoFurtherInterceptor' : 'InterceptorActive';
  return {
    status: {
      observedGeneration: request.metadata.generation ?? 0,
      conditions: progressing(conditions, reason, message, now),
      activeInterceptors: next === undefined ? [] : [next.name],
      processedInterceptors: withProcessed(processedInterceptors, [active]),
    },
    events: [
      completed && next !== undefined
        ? { type: 'Normal', reason, message }
        : { type: 'Warning', reason: completed ? reason : late.reason, message },
    ],
    ...(next === undefined ? {} : { againMs: Math.max(0, giveWayAt(request, next.name, now).at - now) }),
  };
}

/** Names the interceptors and activates the first (KEP-4563, "Interceptor Selection"). */
function start(request: EvictionRequest, pod: Pod, now: number): EvictionDecision {
  const { names, ignored } = interceptorsOf(pod);
  const first = names[0] ?? '';
  const message = activeMessage(first, 0, names.length);
  const warnings: EvictionEvent[] = ignored.map((why) => ({
    type: 'Warning',
    reason: 'InterceptorIgnored',
    message: why,
  }));
  const policy = pod.metadata.annotations?.[EVICT_POLICY_ANNOTATION];
  if (policy !== undefined && policy !== DEFAULT_POLICY && policy !== CONTROLLER_TAKE_OVER) {
    const why = `The annotation ${EVICT_POLICY_ANNOTATION} has no valid policy: write ${DEFAULT_POLICY} or ${CONTROLLER_TAKE_OVER}.`;
    warnings.push({ type: 'Warning', reason: 'EvictPolicyIgnored', message: why });
  }
  return {
    status: {
      observedGeneration: request.metadata.generation ?? 0,
      conditions: progressing(request.status?.conditions ?? [], 'InterceptorActive', message, now),
      targetInterceptors: names.map((name) => ({ name })),
      activeInterceptors: [first],
      processedInterceptors: [],
      interceptors: names.map((name) => ({ name, message: '' })),
    },
    events: warnings,
    againMs: Math.max(0, giveWayAt(request, first, now).at - now),
  };
}

/**
 * One step of the EvictionRequest controller (KEP-4563, "Eviction Request Controller"): validates the target, selects
 * the first interceptor, passes control on, and ends the request. `pod` is the pod of the target's name, if there is one.
 */
export function decideEvictionRequest(request: EvictionRequest, pod: Pod | undefined, now: number): EvictionDecision {
  if (isFinished(request)) return observed(request);
  const { name, uid } = request.spec.target.pod;
  const started = request.status?.targetInterceptors !== undefined;
  if (pod === undefined || pod.metadata.uid !== uid) {
    // The pod of a drain was there: it may have ended by itself, or been evicted by an agent while no controller was alive.
    return started || isMadeByDrain(request)
      ? finish(request, { type: EVICTED, reason: 'PodDeleted', message: `Target Pod ${name} was deleted.` }, now)
      : finish(
          request,
          { type: CANCELED, reason: VALIDATION_FAILED, message: `Target Pod ${name} was not found.` },
          now,
        );
  }
  if (isInPodGroup(pod)) {
    const message = `Target Pod ${name} is part of a Workload/PodGroup. Eviction of such pods is currently not supported.`;
    return finish(request, { type: CANCELED, reason: VALIDATION_FAILED, message }, now);
  }
  if (isTerminal(pod)) {
    return finish(
      request,
      { type: EVICTED, reason: 'PodTerminal', message: `Target Pod ${name} reached the phase ${pod.status?.phase}.` },
      now,
    );
  }
  if (request.metadata.deletionTimestamp !== undefined) {
    const message = `The EvictionRequest was deleted before Pod ${name} ended.`;
    return finish(request, { type: CANCELED, reason: DELETED, message }, now);
  }
  if ((request.spec.requesters ?? []).length === 0) {
    return finish(
      request,
      { type: CANCELED, reason: NO_REQUESTERS, message: `Nobody requests the eviction of Pod ${name} any more.` },
      now,
    );
  }
  return started ? rotate(request, now) : start(request, pod, now);
}
