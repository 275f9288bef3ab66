import * as z from 'zod';
import type { NodeSelector } from '../../api/meta.ts';
import { NODE_MAINTENANCE_GROUP } from '../../api/names.ts';
import { type NoReview, parseReviewBody, REVIEW, reviewBody } from './eviction-review.ts';

const requirement = z.object({
  key: z.string(),
  operator: z.string(),
  values: z.array(z.string()).max(1000).exactOptional(),
});
const requirements = z.array(requirement).max(50).exactOptional();

/** What is read of a NodeMaintenance; the API server has checked it against the CRD, but who is calling? */
const reviewSchema = z.object({
  ...REVIEW,
  request: z.object({
    uid: z.string().min(1).max(128),
    operation: z.enum(['CREATE', 'UPDATE']),
    resource: z.object({ group: z.literal(NODE_MAINTENANCE_GROUP), resource: z.literal('nodemaintenances') }),
    name: z.string().max(253).optional(),
    userInfo: z.object({ username: z.string().max(1024).optional() }).optional(),
    object: z.object({
      spec: z.object({
        nodeSelector: z.object({
          nodeSelectorTerms: z.array(z.object({ matchExpressions: requirements, matchFields: requirements })).max(100),
        }),
      }),
    }),
  }),
});

/** A review of a NodeMaintenance that a client writes. */
interface MaintenanceReview {
  readonly uid: string;
  /** Who writes. */
  readonly user: string;
  /** Empty where the API server is still to make one up. */
  readonly name: string;
  readonly nodeSelector: NodeSelector;
}

/** Reads a review of a write of a NodeMaintenance. */
export function parseMaintenanceReview(body: string): MaintenanceReview | NoReview {
  const parsed = parseReviewBody(reviewSchema, body, 'a write of nodemaintenances');
  if ('wrong' in parsed) return parsed;
  const { uid, userInfo, name, object } = parsed.review.request;
  return { uid, user: userInfo?.username ?? '', name: name ?? '', nodeSelector: object.spec.nodeSelector };
}

/** The answer to a review: what is warned of is allowed all the same (KEP-4212, "NodeMaintenance Admission"). */
export function warningsAnswer(uid: string, warnings: readonly string[]): string {
  return reviewBody({ uid, allowed: true, ...(warnings.length === 0 ? {} : { warnings }) });
}
