import { setTimeout as delay } from 'node:timers/promises';
import { NodemaintError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { KubeClient, KubeRequest, KubeResponse } from './client.ts';

/** Longer answers of a server are cut to this many characters. */
const MAX_MESSAGE = 4_096;

/** The message of a metav1.Status on one line, bounded, or the HTTP status where there is none. */
export function statusMessage(response: KubeResponse): string {
  const body = response.body as { message?: unknown } | null;
  return typeof body?.message === 'string' ? printable(body.message.slice(0, MAX_MESSAGE)) : `HTTP ${response.status}`;
}

/** One of details.causes of a metav1.Status. */
interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The causes of a metav1.Status; none where it has none. */
export function statusCauses(response: KubeResponse): readonly StatusCause[] {
  const body = response.body as { details?: { causes?: unknown } } | null;
  const causes = body?.details?.causes;
  return Array.isArray(causes) ? (causes as StatusCause[]) : [];
}

/**
 * The HTTP status of an answer, and 409 where a patch names the UID of an object that was replaced since: the API server calls
 * such a patch invalid (422), because a UID may not change.
 */
export function answeredStatus(response: KubeResponse): number {
  const isReplaced = response.status === 422 && statusCauses(response).some(({ field }) => field === 'metadata.uid');
  return isReplaced ? 409 : response.status;
}

/** How long the API server asks its client to wait, in milliseconds; undefined where it does not say. */
export function retryAfterMs({ headers }: KubeResponse): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** A request that the API server has no time for is sent so many times, with pauses of at most so long. */
const BUSY = { tries: 4, pauseMs: 5_000 };

/** The answer to a request, which is sent again as the API server asks where it is busy (as client-go does for Retry-After). */
async function answerOf(client: KubeClient, request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> {
  for (let tries = 1; ; tries += 1) {
    const response = await client.send(request, signal);
    const pauseMs = response.status === 429 || response.status === 503 ? retryAfterMs(response) : undefined;
    if (pauseMs === undefined || tries === BUSY.tries) return response;
    await delay(Math.min(pauseMs, BUSY.pauseMs), undefined, { signal });
  }
}

/**
 * Sends a request that is expected to succeed, and returns the object. Returns undefined for the statuses in `absent`
 * (typically 404, 409); throws API_REFUSED with the server's own words for every other failure.
 */
export async function sendForObject<T>(
  client: KubeClient,
  request: KubeRequest,
  absent: readonly number[],
  signal: AbortSignal,
): Promise<T | undefined> {
  const response = await answerOf(client, request, signal);
  if (absent.includes(answeredStatus(response))) return undefined;
  if (response.status >= 200 && response.status < 300) return response.body as T;
  throw new NodemaintError(
    'API_REFUSED',
    `the API server refused ${request.method} ${request.path}: ${statusMessage(response)}`,
    { status: response.status },
  );
}
