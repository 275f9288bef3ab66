import * as z from 'zod';
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_GROUP, INTERCEPTOR_DEADLINE_ANNOTATION } from '../../api/names.ts';
import type { TimesDecision } from '../../decide/eviction/admission-times.ts';

/** Characters of what is said of a body that is wrong; it quotes what it found. */
const MAX_WRONG = 2_000;

/** What a review is, as an API server sends it (admission.k8s.io/v1). */
export const REVIEW = { apiVersion: z.literal('admission.k8s.io/v1'), kind: z.literal('AdmissionReview') };

/** As the CRD takes them, whose fractions of a second have no end; Date.parse reads those of any length. */
const time = z.string().max(1024);
/** What the rules read of an EvictionRequest; the API server has checked it against the CRD, but who is calling? */
const requestSchema = z.object({
  metadata: z.object({
    name: z.string().max(253),
    namespace: z.string().max(63).optional(),
    creationTimestamp: time.optional(),
    annotations: z.object({ [INTERCEPTOR_DEADLINE_ANNOTATION]: z.string().optional() }).optional(),
  }),
  spec: z.object({ target: z.object({ pod: z.object({ name: z.string(), uid: z.string() }) }) }),
  status: z
    .object({
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.enum(['True', 'False', 'Unknown']),
            reason: z.string(),
            message: z.string(),
            lastTransitionTime: time,
          }),
        )
        .optional(),
      activeInterceptors: z.array(z.string().max(253)).max(15).optional(),
      interceptors: z
        .array(
          z.object({
            name: z.string().max(253),
            startTime: time.optional(),
            heartbeatTime: time.optional(),
            expectedFinishTime: time.optional(),
            completionTime: time.optional(),
          }),
        )
        .max(15)
        .optional(),
    })
    .optional(),
});

const reviewSchema = z.object({
  ...REVIEW,
  request: z.object({
    uid: z.string().min(1).max(128),
    operation: z.literal('UPDATE'),
    resource: z.object({ group: z.literal(EVICTION_REQUEST_GROUP), resource: z.literal('evictionrequests') }),
    subResource: z.literal('status'),
    userInfo: z.object({ username: z.string().max(1024).optional() }).optional(),
    object: requestSchema,
    oldObject: requestSchema,
  }),
});

/** An update of the status of an EvictionRequest that an API server asks about. */
interface StatusReview {
  readonly uid: string;
  /** Who writes. */
  readonly user: string;
  readonly old: EvictionRequest;
  readonly fresh: EvictionRequest;
}

/** What is wrong with the body of a call, and the review's `uid` where it is one that cannot be understood. */
export interface NoReview {
  readonly wrong: string;
  readonly uid?: string;
}

/** What every review has. */
const envelopeSchema = z.object({ ...REVIEW, request: z.object({ uid: z.string().min(1).max(128) }) });

/** Reads the body of a call, which is to be a review of the kind that `what` names. */
export function parseReviewBody<T>(
  schema: z.ZodType<T>,
  body: string,
  what: string,
): { readonly review: T } | NoReview {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { wrong: 'the body is not JSON' };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { review: parsed.data };
  const wrong = `the body is no review of ${what}:\n${z.prettifyError(parsed.error)}`.slice(0, MAX_WRONG);
  const envelope = envelopeSchema.safeParse(json);
  return envelope.success ? { wrong, uid: envelope.data.request.uid } : { wrong };
}

/** Reads a review of the status of an EvictionRequest. */
export function parseReview(body: string): StatusReview | NoReview {
  const parsed = parseReviewBody(reviewSchema, body, 'an update of evictionrequests/status');
  if ('wrong' in parsed) return parsed;
  const { uid, userInfo, object, oldObject } = parsed.review.request;
  return { uid, user: userInfo?.username ?? '', old: oldObject as EvictionRequest, fresh: object as EvictionRequest };
}

/** What a webhook answers (admission.k8s.io/v1, AdmissionResponse). */
interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly warnings?: readonly string[];
}

/** The body of an answer. */
export function reviewBody(response: ReviewResponse): string {
  return JSON.stringify({ apiVersion: REVIEW.apiVersion.value, kind: REVIEW.kind.value, response });
}

/** The answer to a review that cannot be understood: what is not read is not admitted. */
export function refusalAnswer(uid: string, wrong: string): string {
  return reviewBody({ uid, allowed: false, status: { code: 400, reason: 'BadRequest', message: wrong } });
}

/** The answer to a review of times: 422, as the API server itself answers what is not valid. */
export function reviewAnswer(uid: string, decision: TimesDecision): string {
  if (decision.kind === 'allowed') return reviewBody({ uid, allowed: true });
  return reviewBody({ uid, allowed: false, status: { code: 422, reason: 'Invalid', message: decision.message } });
}
