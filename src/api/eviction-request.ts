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
 * Ours: an interceptor is at work. Its lastTransitionTime is the moment of the interceptor's activation, which the KEP's
 * fields do not keep and from which its heartbeat deadline counts as long as it has given no sign of life.
 */
export const PROGRESSING = 'Progressing';

/** Reasons of Canceled; the KEP writes out the first. */
export const VALIDATION_FAILED = 'ValidationFailed';
export const NO_REQUESTERS = 'NoRequesters';

/** KEP-4563: control passes to the next interceptor when there was no heartbeat for so long, in milliseconds. */
export const HEARTBEAT_DEADLINE_MS = 20 * 60_000;

/** KEP-4563: how far the clocks of the actors may differ, in milliseconds. */
export const CLOCK_SKEW_MS = 10_000;
