/** The evictions of pods of groups as EvictionRequests that are only in memory: drains then need to know of no other kind. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { ownRequest } from '../../decide/eviction/own-request.ts';
import { drainPodOf } from '../../decide/pod.ts';
import { asOfNow, type Moment, momentOf } from '../../host/clock.ts';
import type { RequestIndex } from '../cache/requests.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations } from '../deadline.ts';

/** The requester of a pod that leaves only because others of its group do. */
const GROUP_REQUESTER = 'podgroup.scheduling.k8s.io';

/** One eviction, without a request in the cluster. */
export interface GroupEviction {
  readonly pod: Pod;
  readonly group: string;
  readonly begun: Moment;
  /** Who asks: a drain, or the group whose other pods leave. */
  by: 'drain' | 'group';
  /** What the engine said last. */
  message: string;
  /** When the engine took its last step. */
  heard?: Moment;
}

/** The eviction as a request that has the entry of its requester. */
export function requestOfEviction(
  context: ControllerContext,
  { pod, by, message, begun, heard }: GroupEviction,
): EvictionRequest {
  const now = momentOf(context.clock);
  const heardAt = heard === undefined ? {} : { heardAt: asOfNow(heard, now) };
  const request = ownRequest(pod, { startedAt: asOfNow(begun, now), message, ...heardAt });
  const annotations = deadlineAnnotations(context, drainPodOf(pod), pod.spec.nodeName ?? '', undefined);
  const requesters = [{ name: by === 'drain' ? MAINTENANCE_REQUESTER : GROUP_REQUESTER }];
  return { ...request, metadata: { ...request.metadata, annotations }, spec: { ...request.spec, requesters } };
}

/** The requests of the cluster together with those in memory, for the status of drains and for the limits. */
export function withGroups(
  requests: RequestIndex,
  groups: { get(key: string): EvictionRequest | undefined; list(): readonly EvictionRequest[] },
): RequestIndex {
  return {
    ...requests,
    get: (key) => requests.get(key) ?? groups.get(key),
    list: () => [...requests.list(), ...groups.list()],
  };
}
