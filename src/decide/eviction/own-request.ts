import type { EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { rfc3339 } from '../time.ts';

/** What is said of an eviction that has no EvictionRequest in the cluster. */
interface OwnEntry {
  /** When the eviction began, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** What the interceptor said last. */
  readonly message: string;
  /** When it last took a step, in milliseconds since the epoch; absent where it has taken none, or nobody asks. */
  readonly heardAt?: number;
}

/**
 * A request as it would be if the cluster had one, with the entry of the imperative interceptor, which is active: the rules of
 * evictions then need to know of no other kind.
 */
export function ownRequest(pod: Pod, { startedAt, message, heardAt }: OwnEntry): EvictionRequest {
  const { name, namespace = 'default', uid = '' } = pod.metadata;
  const startTime = rfc3339(startedAt);
  const heard = heardAt === undefined ? {} : { heartbeatTime: rfc3339(heardAt) };
  const interceptors = [{ name: IMPERATIVE_INTERCEPTOR, startTime, message, ...heard }];
  return {
    metadata: { name: uid, namespace, creationTimestamp: startTime },
    spec: { target: { pod: { name, uid } } },
    status: { activeInterceptors: [IMPERATIVE_INTERCEPTOR], interceptors },
  };
}
