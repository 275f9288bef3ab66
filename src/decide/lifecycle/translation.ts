/**
 * The adapter between the two dialects: what the engine of evictions knows as an EvictionRequest with interceptors is an
 * Eviction with responders here. A responder sees by it that it is active, and its words are translated back.
 */
import {
  CANCELED,
  EVICTED,
  type EvictionRequest,
  type InterceptorStatus,
  PROGRESSING,
} from '../../api/eviction-request.ts';
import {
  type Eviction,
  IMPERATIVE_RESPONDER,
  NO_FURTHER_RESPONDER,
  type ResponderStatus,
} from '../../api/lifecycle.ts';
import type { Condition } from '../../api/meta.ts';
import { attemptsOf, failedAttempts } from '../eviction/api-answer.ts';
import { isTerminatingMessage } from '../eviction/imperative.ts';
import { type Conditioned, isEvicted, isEvictionOver } from './conditions.ts';
import { interceptorName } from './names.ts';
import { compareResponders } from './responders.ts';

/** One participant under both of its names. */
export interface ResponderNames {
  /** As Evictions have it, such as `example.com/backup`. */
  readonly responder: string;
  /** As the engine has it. */
  readonly interceptor: string;
}

/** An Eviction that is under way was asked for; by whom does not matter to a responder. */
const ASKED_BY = 'lifecycle.k8s.io';

/** Upstream's words for attempts that failed, from which the count is read back after a restart. */
const FAILED_WORDS = 'pod deletion via the /eviction subresource failed';
const FAILED_MESSAGE = new RegExp(`^".*" ${FAILED_WORDS} \\(attempts=(\\d{1,9})\\): `, 's');
const TERMINATING_WORDS = 'and is being terminated gracefully';
const BY_EVICTION = ' via the /eviction subresource';

/** Whether the label of the responder says that it is asked; the controller sets it. */
function isLabelled({ metadata }: Eviction, responder: string): boolean {
  const role = metadata.labels?.[responder];
  return role === 'responder' || role === 'requester-responder';
}

/** The responder's own entry. */
export function responderEntry({ status }: Eviction, responder: string): ResponderStatus | undefined {
  return status?.responders?.find(({ name }) => name === responder);
}

/** Whether the responder is the active one, in an Eviction that the controller has looked at. */
export function isResponderActive(eviction: Eviction, responder: string): boolean {
  const { status } = eviction;
  if (status?.observedGeneration === undefined || isEvictionOver(eviction) || !isLabelled(eviction, responder))
    return false;
  return status.targetResponders?.some(({ name, state }) => name === responder && state === 'Active') === true;
}

/** A message of the default evictor in the engine's words. */
function engineMessage(message: string | undefined): string {
  const match = FAILED_MESSAGE.exec(message ?? '');
  return match === null ? (message ?? '') : failedAttempts(Number(match[1]), (message ?? '').slice(match[0].length));
}

function interceptorOf(entry: ResponderStatus, named: (responder: string) => string): InterceptorStatus {
  const { name, message, expectedCompletionTime, ...times } = entry;
  return {
    ...times,
    name: named(name),
    message: name === IMPERATIVE_RESPONDER ? engineMessage(message) : (message ?? ''),
    ...(expectedCompletionTime === undefined ? {} : { expectedFinishTime: expectedCompletionTime }),
  };
}

/** How an object has ended, as conditions of the engine; empty where it has not. */
export function endsOf(object: Conditioned): readonly Condition[] {
  if (!isEvictionOver(object)) return [];
  const type = isEvicted(object) ? EVICTED : CANCELED;
  return (object.status?.conditions ?? []).flatMap((each) => (each.status === 'True' ? [{ ...each, type }] : []));
}

/** Whether every responder has been active, and the pod is still there; a controller tries again with another Eviction. */
export function hasNobodyLeft({ status }: EvictionRequest): boolean {
  const isEnd = ({ type, reason }: Condition): boolean => type === CANCELED && reason === NO_FURTHER_RESPONDER;
  return status?.conditions?.some(isEnd) === true;
}

/** Since when somebody is active, as the condition of the engine; none where nobody is. */
function activation({ status }: Eviction): readonly Condition[] {
  const active = status?.targetResponders?.find(({ state }) => state === 'Active')?.name;
  const lastTransitionTime = status?.responders?.find(({ name }) => name === active)?.startTime;
  if (active === undefined || lastTransitionTime === undefined) return [];
  const message = `${active} is active.`;
  return [{ type: PROGRESSING, status: 'True', reason: 'InterceptorActive', message, lastTransitionTime }];
}

/**
 * The Eviction as the engine sees it, with the eyes of one responder, or of nobody; undefined for a target that is no pod.
 */
export function engineView(eviction: Eviction, names?: ResponderNames): EvictionRequest | undefined {
  const { metadata, spec, status = {} } = eviction;
  if (spec.target.pod === undefined) return undefined;
  const inOrder = (status.targetResponders ?? []).toSorted(compareResponders);
  const nameOf = (responder: string): string =>
    responder === names?.responder ? names.interceptor : interceptorName(responder);
  const named = ({ name }: { readonly name: string }): string => nameOf(name);
  const isMine = names !== undefined && isResponderActive(eviction, names.responder);
  const active = inOrder.filter(({ name, state }) => state === 'Active' && (name !== names?.responder || isMine));
  const ended = inOrder.filter(({ state }) => state !== 'Active' && state !== 'Inactive');
  return {
    metadata,
    spec: { target: { pod: spec.target.pod }, requesters: [{ name: ASKED_BY }] },
    status: {
      ...(status.observedGeneration === undefined ? {} : { observedGeneration: status.observedGeneration }),
      conditions: [...endsOf(eviction), ...activation(eviction)],
      targetInterceptors: inOrder.map((each) => ({ name: named(each) })),
      activeInterceptors: active.map(named),
      processedInterceptors: ended.map(named),
      interceptors: (status.responders ?? []).map((entry) => interceptorOf(entry, nameOf)),
    },
  };
}

/**
 * A message of the engine's default evictor in upstream's words (kubernetes/kubernetes#137396, with its doubled "been", which
 * its tests expect); `byEviction` where this program has had the eviction accepted.
 */
export function evictorMessage(podName: string, message: string, byEviction: boolean): string {
  const attempts = attemptsOf(message);
  if (attempts > 0) {
    return `"${podName}" ${FAILED_WORDS} (attempts=${attempts}): ${message.slice(failedAttempts(attempts, '').length)}`;
  }
  if (!isTerminatingMessage(message, podName)) return message;
  return `"${podName}" pod has been been marked for deletion${byEviction ? BY_EVICTION : ''} ${TERMINATING_WORDS}`;
}

/** Whether an earlier message says that the eviction was accepted. */
export function saysEvicted(message: string | undefined): boolean {
  return message?.endsWith(`${BY_EVICTION} ${TERMINATING_WORDS}`) === true;
}

/** The last message of the default evictor: how the pod has ended. */
export function endedMessage(podName: string, phase: string | undefined, wasDeleted: boolean): string {
  const how = wasDeleted ? 'deleted and fully terminated' : 'fully terminated';
  return `"${podName}" pod has been ${how}${phase === undefined ? '' : ` (pod phase="${phase}")`}`;
}
