/** In which of the two dialects a drain asks a pod to leave. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DAEMON_SET_RESPONDER } from '../../api/lifecycle.ts';
import { IMPERATIVE_INTERCEPTOR, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { ENDING_INTERCEPTOR, type InterceptorSelection, interceptorsOf } from '../eviction/interceptors.ts';
import { isFinished } from '../eviction/request.ts';
import { isRequestedBy } from '../eviction/requester.ts';
import { isOwnController } from '../own-controller.ts';
import { isInPodGroup, podTypeOf } from '../pod.ts';
import { interceptorName, isOwnResponder, staticPodResponder } from './names.ts';
import { respondersOf } from './responders.ts';

/** The older one is `coordination.x-k8s.io`, the newer one `lifecycle.k8s.io`. */
export type Dialect = 'older' | 'newer';

/** What the dialect is chosen by. */
interface DialectFacts {
  readonly pod: Pod;
  /** The request for the pod in each dialect, as the engine sees it. */
  readonly older: EvictionRequest | undefined;
  readonly newer: EvictionRequest | undefined;
  /** Whether the name that the drain's request has in the newer dialect belongs to a request of somebody else. */
  readonly isNameTaken: boolean;
  /** Which one the cluster is to speak where nothing is under way. */
  readonly preferred: Dialect;
  /** Whether nobody works on requests in the newer dialect: its controllers are not there, or do not run. */
  readonly isUnattended: boolean;
  /** Whether only this program may end the pod by the Eviction API: it asks no budget, or the pod is its own. */
  readonly isOurs: boolean;
  /** Whether a deadline leaves no more time to others than the Eviction API; only the older dialect can pass on to the next interceptor early. */
  readonly isLate: boolean;
}

/** Whether somebody who can end the pod, and everybody whom it names, would be asked in the newer dialect. */
function isRegistered(pod: Pod): boolean {
  const names = (pod.spec.evictionResponders ?? []).map(({ name }) => name);
  const podType = podTypeOf(pod);
  const own = podType === 'Static' ? staticPodResponder(pod.spec.nodeName ?? '') : DAEMON_SET_RESPONDER;
  if (podType !== 'Default' && (own === undefined || !names.includes(own))) return false;
  const asked = interceptorsOf(pod).names.filter((name) => name !== IMPERATIVE_INTERCEPTOR);
  const isNamedOnlyByAnnotation =
    asked.some((name) => name !== ENDING_INTERCEPTOR[podType]) && names.every((name) => isOwnResponder(name));
  return !isNamedOnlyByAnnotation && !isInPodGroup(pod);
}

/**
 * The dialect for a pod: what is under way goes on where it is, so that nobody who works for the pod is interrupted. A new
 * request is made in the preferred dialect, if those who are to be asked are registered there.
 */
export function dialectOf(facts: DialectFacts): Dialect {
  const { pod, older, newer, isNameTaken, preferred, isUnattended, isOurs, isLate } = facts;
  if (older !== undefined && !isFinished(older)) return 'older';
  // A request that is deleted asks for nothing (KEP-4563), and while finalizers hold it there is no other one of its name.
  if (isNameTaken || newer?.metadata.deletionTimestamp !== undefined) return 'older';
  if (isUnattended) return 'older';
  const [active] = newer?.status?.activeInterceptors ?? [];
  if (isOurs && (active === undefined || active === IMPERATIVE_INTERCEPTOR)) return 'older';
  if (isLate && active !== IMPERATIVE_INTERCEPTOR) return 'older';
  if (newer !== undefined && isRequestedBy(newer, MAINTENANCE_REQUESTER) && !isFinished(newer)) return 'newer';
  return preferred === 'newer' && isRegistered(pod) ? 'newer' : 'older';
}

/**
 * Who would be asked for the pod, in the engine's names and in this order: the responders of its spec where the newer dialect is
 * chosen for it, for a cluster that takes this field speaks that one; else its interceptors.
 */
export function askedFor(pod: Pod): InterceptorSelection {
  const older = interceptorsOf(pod);
  if ((pod.spec.evictionResponders ?? []).length === 0) return older;
  const nothing = { older: undefined, newer: undefined, isNameTaken: false, isUnattended: false } as const;
  const facts = { pod, ...nothing, preferred: 'newer', isOurs: isOwnController(pod), isLate: false } as const;
  if (dialectOf(facts) === 'older') return older;
  return { names: respondersOf(pod).map(({ name }) => interceptorName(name)), ignored: older.ignored };
}
