import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { decideHeartbeat, type Progress } from '../../decide/eviction/heartbeat.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { applyInterceptorStatus } from './interceptor-status.ts';
import { createRecentWrites } from '../read-your-writes.ts';
import { createWorkQueue, type Reconcile } from '../queue.ts';
import { EVICTION_REQUESTS, objectPath, PODS, sendForObject } from '../resource.ts';
import { createObjectCache } from '../watch.ts';

/** What an interceptor does about a request that it is asked to act on. */
export type InterceptorStep =
  /** It works: a sign of life is given when one is due, with this message and estimate. */
  | ({ readonly kind: 'working'; readonly againMs?: number } & Omit<Progress, 'completed'>)
  /** It is done, or wants nothing to do with the pod: control passes on. */
  | { readonly kind: 'completed'; readonly message: string }
  /** It says nothing; after 20 minutes of that control passes on. */
  | { readonly kind: 'silent'; readonly againMs?: number };

/** An interceptor (KEP-4563, "Interceptor"): its name on pods, and what it does when its turn has come. */
export interface Interceptor {
  readonly name: string;
  /** Called with the verified target whenever something changed or the time asked for is over; must bear repetition. */
  act(request: EvictionRequest, pod: Pod, signal: AbortSignal): Promise<InterceptorStep>;
  /** Whether it acts on this request although its turn is over or cannot come; nothing is reported then. Never, where absent. */
  actsOutOfTurn?(request: EvictionRequest, pod: Pod): boolean;
  /** Called for a request that is over while it may still have our traces, for instance canceled; must bear repetition. */
  over?(request: EvictionRequest, signal: AbortSignal): Promise<void>;
  /** Called with the key, NAMESPACE/NAME, of a request that was deleted, over or not. */
  gone?(key: string): void;
}

/**
 * Whether the request asks this interceptor to act now (KEP-4563, "Interceptor": it is in activeInterceptors). One that is
 * being deleted asks nobody any more, though finalizers may hold it.
 */
export function isActiveInterceptor(request: EvictionRequest, name: string): boolean {
  const { metadata, status } = request;
  return !isFinished(request) && metadata.deletionTimestamp === undefined && status?.activeInterceptors?.[0] === name;
}

/** What an interceptor reports. */
export interface InterceptorReport {
  /** The interceptor. */
  readonly name: string;
  readonly turn: InterceptorStep;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Writes a report into the interceptor's own entry of the request where a write is due.
 * Returns the request after the write, or undefined where nothing was written.
 */
export async function reportProgress(
  client: KubeClient,
  request: EvictionRequest,
  { name, turn, now }: InterceptorReport,
  signal: AbortSignal,
): Promise<EvictionRequest | undefined> {
  if (turn.kind === 'silent') return undefined;
  const progress: Progress = turn.kind === 'completed' ? { message: turn.message, completed: true } : turn;
  const entry = decideHeartbeat(request, name, progress, now);
  return entry === undefined ? undefined : await applyInterceptorStatus(client, request, entry, signal);
}

export interface InterceptorDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly request: (key: string) => EvictionRequest | undefined;
  readonly pod: (request: EvictionRequest, signal: AbortSignal) => Promise<Pod | undefined>;
}

/**
 * The protocol of an interceptor as a reconciler (KEP-4563, "Interceptor", the steps in their order): verify the target,
 * check that it is our turn, act, then heartbeat, estimate, message and completion in one write that touches only our entry.
 */
export function createInterceptorReconciler(
  interceptor: Interceptor,
  dependencies: InterceptorDependencies,
): Reconcile {
  const { client, clock } = dependencies;
  const ownWrites = createRecentWrites<EvictionRequest>();
  /** Another UID is another pod of that name: it is not what was asked for. */
  const findTarget = async (request: EvictionRequest, signal: AbortSignal): Promise<Pod | undefined> => {
    const pod = await dependencies.pod(request, signal);
    return pod?.metadata.uid === request.spec.target.pod.uid ? pod : undefined;
  };
  return async (key, signal) => {
    const copy = dependencies.request(key);
    const request = ownWrites.latest(key, copy);
    if (request === undefined) {
      ownWrites.forget(key);
      interceptor.gone?.(key);
      return {};
    }
    const isActive = isActiveInterceptor(request, interceptor.name);
    const pod = isActive || interceptor.actsOutOfTurn !== undefined ? await findTarget(request, signal) : undefined;
    const isOutOfTurn = pod !== undefined && !isActive && interceptor.actsOutOfTurn?.(request, pod) === true;
    if (isFinished(request) && !isOutOfTurn) {
      ownWrites.forget(key);
      await interceptor.over?.(request, signal);
      return {};
    }
    if (pod === undefined || !(isActive || isOutOfTurn)) return {};
    const turn = await interceptor.act(request, pod, signal);
    if (isActive) {
      const report = { name: interceptor.name, turn, now: clock.now() };
      const after = await reportProgress(client, request, report, signal);
      if (after !== undefined) ownWrites.note(key, copy, after);
    }
    return turn.kind === 'completed' || turn.againMs === undefined ? {} : { againMs: turn.againMs };
  };
}

/**
 * Runs an interceptor of its own until the signal is aborted: watches the EvictionRequests that `labelSelector` selects
 * (they carry the labels of their pods), and reads a target when its turn has come.
 */
export async function runInterceptor(
  interceptor: Interceptor,
  scope: { readonly labelSelector?: string; readonly parallel?: number },
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const { client } = dependencies;
  const { parallel = 1, ...selector } = scope;
  const reconcile = createInterceptorReconciler(interceptor, {
    ...dependencies,
    request: (key) => requests.get(key),
    pod: ({ metadata, spec }, wait) => {
      const path = objectPath(PODS, { ...spec.target.pod, namespace: metadata.namespace ?? '' });
      return sendForObject<Pod>(client, { method: 'GET', path }, [404], wait);
    },
  });
  const queue = createWorkQueue(interceptor.name, reconcile, parallel, dependencies);
  const requests = createObjectCache<EvictionRequest>(
    { resource: EVICTION_REQUESTS, ...selector },
    (key) => {
      queue.add(key);
    },
    dependencies,
  );
  await Promise.all([requests.run(signal), queue.run(signal)]);
}
