import type { Condition, KubeObject } from './meta.ts';

/** KEP-4563, InterceptorStatus. Times are RFC 3339. */
export interface InterceptorStatus {
  readonly name: string;
  readonly startTime?: string;
  readonly heartbeatTime?: string;
  readonly expectedFinishTime?: string;
  readonly completionTime?: string;
  readonly message?: string;
}

/** KEP-4563, EvictionRequestStatus. */
export interface EvictionRequestStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly targetInterceptors?: readonly { readonly name: string }[];
  readonly activeInterceptors?: readonly string[];
  readonly processedInterceptors?: readonly string[];
  readonly interceptors?: readonly InterceptorStatus[];
}

/** KEP-4563, EvictionRequest. Its name is the UID of the target pod. */
export interface EvictionRequest extends KubeObject {
  readonly spec: {
    readonly target: { readonly pod: { readonly name: string; readonly uid: string } };
    readonly requesters?: readonly { readonly name: string }[];
  };
  readonly status?: EvictionRequestStatus;
}

/** KEP-4563: the request is no longer processed. */
export const CANCELED = 'Canceled';
/** KEP-4563: the target pod is gone or has reached a terminal phase. */
export const EVICTED = 'Evicted';

/**
 * Ours: an interceptor is active. Its lastTransitionTime is the time of the activation, for which the KEP has no field. The
 * heartbeat deadline counts from it until the first heartbeat.
 */
export const PROGRESSING = 'Progressing';

/** Reasons of the condition Canceled; the KEP defines the first one. */
export const VALIDATION_FAILED = 'ValidationFailed';
export const NO_REQUESTERS = 'NoRequesters';
/** Ours: the request was deleted, and finalizers hold it. */
export const DELETED = 'Deleted';
