import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { decideHeartbeat, type Progress } from '../../decide/eviction/heartbeat.ts';
import { shortened } from '../../printable.ts';
import type { KubeClient } from '../client.ts';
import { applyInterceptorStatus } from './interceptor-status.ts';

/** The longest message of an interceptor that the CRD takes; a longer one, for instance of a webhook, is cut. */
const MAX_MESSAGE = 4_096;

/** What an interceptor does about a request that it is asked to act on. */
export type InterceptorStep =
  /** It works: a sign of life is given when one is due, with this message and estimate. */
  | ({ readonly kind: 'working'; readonly againMs?: number } & Omit<Progress, 'completed'>)
  /** It is done, or wants nothing to do with the pod: control passes on. */
  | { readonly kind: 'completed'; readonly message: string }
  /** It says nothing; after 20 minutes of that control passes on. */
  | { readonly kind: 'silent'; readonly againMs?: number };

/** An interceptor (KEP-4563, "Interceptor"): its name on pods, and what it does when it is the active one. */
export interface Interceptor {
  readonly name: string;
  /** Called with the verified target whenever something changed or the time asked for is over; must bear repetition. */
  act(request: EvictionRequest, pod: Pod, signal: AbortSignal): Promise<InterceptorStep>;
  /** Whether it acts on this request although it is not, or not any more, the active one; nothing is reported then. Never, where absent. */
  actsWhileInactive?(request: EvictionRequest, pod: Pod): boolean;
  /**
   * Called for a request that is over, or was deleted, and may still have our traces; must bear repetition. A deleted one is
   * as it was seen last, and only what this process has acted on is remembered.
   */
  over?(request: EvictionRequest, signal: AbortSignal): Promise<void>;
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
interface InterceptorReport {
  /** The interceptor. */
  readonly name: string;
  readonly step: InterceptorStep;
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
  { name, step, now }: InterceptorReport,
  signal: AbortSignal,
): Promise<EvictionRequest | undefined> {
  if (step.kind === 'silent') return undefined;
  const said: Progress = step.kind === 'completed' ? { message: step.message, completed: true } : step;
  const progress = { ...said, message: shortened(said.message, MAX_MESSAGE) };
  const entry = decideHeartbeat(request, name, progress, now);
  return entry === undefined ? undefined : await applyInterceptorStatus(client, request, entry, signal);
}
