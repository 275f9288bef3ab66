import type { EvictionRequest, EvictionRequestStatus } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { completedStatus, firstStatusLeftMs } from '../../decide/eviction/first-status.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { createRecentWrites, type RecentWrites } from '../../kube/read-your-writes.ts';
import { EVICTION_REQUESTS, keyOf, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';

/** A first status that is not written yet. */
export interface WaitingStatus {
  readonly status: EvictionRequestStatus;
  /** The time until it has to be written, in milliseconds. */
  readonly leftMs: number;
}

/** The first statuses of EvictionRequests that wait to be written; only this process knows them. */
export interface FirstStatuses {
  /** What is known of our writes of requests that the copies do not show yet. */
  readonly writes: RecentWrites<EvictionRequest>;
  /** The request as if its first status were written. */
  complete(request: EvictionRequest): EvictionRequest;
  /**
   * The first status of the request that waits; undefined where there is none, or it is written. Notes when the pod is first
   * seen to end.
   */
  waiting(request: EvictionRequest, pod: Pod | undefined): WaitingStatus | undefined;
  /** Lets the first status of a request wait. Those who act by it are told. */
  keep(request: EvictionRequest, status: EvictionRequestStatus): void;
  /**
   * Writes the first status of the request, if it waits. Returns false where the request is over or gone, or has changed since:
   * that change brings it back into the queues. Throws API_UNREACHABLE and API_REFUSED.
   */
  write(request: EvictionRequest, signal: AbortSignal): Promise<boolean>;
  /** Forgets the request of the key, NAMESPACE/NAME, that is over or gone. */
  forget(key: string): void;
}

interface Kept {
  readonly uid: string | undefined;
  readonly status: EvictionRequestStatus;
  /** On the monotonic clock. */
  readonly since: number;
  /** When the pod was first seen to end, on the same clock. */
  endingSince?: number;
  isWritten: boolean;
}

/** Writes the first status into the request as it is judged, and returns it as it is then; undefined where it is over or gone, or has changed since. */
async function writeFirst(
  { client }: Pick<ControllerContext, 'client'>,
  request: EvictionRequest,
  first: EvictionRequestStatus,
  signal: AbortSignal,
): Promise<EvictionRequest | undefined> {
  if (isFinished(request)) return undefined;
  const body = {
    metadata: { resourceVersion: request.metadata.resourceVersion },
    status: completedStatus(request.status, first),
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
  const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
  return await sendForObject<EvictionRequest>(client, change, [404, 409], signal);
}

/** `onKept` is called with the key of a request whose first status begins to wait. */
export function createFirstStatuses(
  context: Pick<ControllerContext, 'client' | 'clock' | 'log' | 'metrics'>,
  onKept: (key: string) => void = () => undefined,
): FirstStatuses {
  const { clock, log, metrics } = context;
  const kept = new Map<string, Kept>();
  const writes = createRecentWrites<EvictionRequest>();
  /** The keys of those that are not written yet. */
  const unwritten = new Set<string>();
  const find = (request: EvictionRequest): Kept | undefined => {
    const known = kept.get(keyOf(request));
    const isAhead = known?.uid === request.metadata.uid && request.status?.targetInterceptors === undefined;
    return isAhead ? known : undefined;
  };
  return {
    writes,
    complete: (request) => {
      const known = find(request);
      return known === undefined ? request : { ...request, status: completedStatus(request.status, known.status) };
    },
    waiting: (request, pod) => {
      const known = find(request);
      if (known === undefined || known.isWritten) return undefined;
      const now = clock.monotonic();
      if (pod?.metadata.deletionTimestamp !== undefined) known.endingSince ??= now;
      return { status: known.status, leftMs: firstStatusLeftMs(known, unwritten.size, now) };
    },
    keep: (request, status) => {
      const key = keyOf(request);
      kept.set(key, { uid: request.metadata.uid, status, since: clock.monotonic(), isWritten: false });
      unwritten.add(key);
      onKept(key);
    },
    write: async (request, signal) => {
      const known = find(request);
      if (known === undefined || known.isWritten) return true;
      const written = await writeFirst(context, request, known.status, signal);
      if (written === undefined) return false;
      writes.note(keyOf(request), request, written);
      known.isWritten = true;
      unwritten.delete(keyOf(request));
      metrics.evictionBegun();
      log.info({ request: keyOf(request), pod: request.spec.target.pod.name }, 'named the interceptors of a request');
      return true;
    },
    forget: (key) => {
      writes.forget(key);
      kept.delete(key);
      unwritten.delete(key);
    },
  };
}
