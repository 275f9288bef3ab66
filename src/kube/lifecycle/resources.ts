import { LIFECYCLE_API_VERSION } from '../../api/lifecycle.ts';
import type { Resource } from '../resource.ts';

const root = `/apis/${LIFECYCLE_API_VERSION}`;

/** One requester's wish for one pod. */
export const LIFECYCLE_REQUESTS: Resource = { root, plural: 'evictionrequests', namespaced: true };
/** The eviction of a pod, for all of its requesters. */
export const EVICTIONS: Resource = { root, plural: 'evictions', namespaced: true };
