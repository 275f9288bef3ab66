/** The API group `lifecycle.k8s.io` of Kubernetes 1.37 (KEP-4563, as released): the second dialect of evictions. */
import type { Condition, KubeObject } from './meta.ts';

const LIFECYCLE_GROUP = 'lifecycle.k8s.io';
export const LIFECYCLE_API_VERSION = `${LIFECYCLE_GROUP}/v1alpha1`;

/** The responder that ends pods by the Eviction API; the only one with a reserved name and a priority below 1000. */
export const IMPERATIVE_RESPONDER = 'imperative-eviction.k8s.io/evictor';
export const IMPERATIVE_PRIORITY = 100;

/** The requester of drains, and the responder that ends DaemonSet pods in a drain: the API refuses reserved domains here. */
export const DRAIN_REQUESTER = 'nodemaintenance.x-k8s.io/drain';
export const DAEMON_SET_RESPONDER = 'daemonset.nodemaintenance.x-k8s.io/controller';
/** The end of the responder of a node's static pods, after the name of the node. */
export const STATIC_POD_RESPONDER_END = '.static.nodemaintenance.x-k8s.io/kubelet';

/** The most entries that the API takes for responders and for requesters. */
export const MAX_RESPONDERS = 11;
export const MAX_REQUESTERS = 100;
/** The longest message of a responder, in characters. */
export const MAX_RESPONDER_MESSAGE = 4_000;

/** The conditions of both kinds; final once they are True. */
export const TARGET_EVICTED = 'TargetEvicted';
export const FAILED = 'Failed';

/** Reasons of these conditions. */
export const AWAITING_EVICTION = 'AwaitingEviction';
export const EVICTION_INVALID = 'EvictionInvalid';
export const NO_INTENT = 'CanceledDueToNoRequesters';
export const NO_FURTHER_RESPONDER = 'NoFurtherResponder';

/** Whether a requester wants the pod to leave, or does not want it any more. */
type Intent = 'Eviction' | 'Withdrawn';

export type ResponderState = 'Inactive' | 'Active' | 'Interrupted' | 'Canceled' | 'Completed';

/** One pod, and no namesake. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
}

/** One requester's wish for one pod. */
export interface LifecycleRequest extends KubeObject {
  readonly spec: {
    /** Without `pod` it is a type of target that this program does not know. */
    readonly target: { readonly pod?: PodReference };
    readonly requester: string;
    readonly intent: Intent;
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly observedGeneration?: number };
}

/** Which responder is active, and which ones were. */
export interface TargetResponder {
  readonly name: string;
  readonly priority: number;
  readonly state: ResponderState;
}

/** What a responder says; `startTime` is the controller's. Times are RFC 3339. */
export interface ResponderStatus {
  readonly name: string;
  readonly startTime?: string;
  readonly heartbeatTime?: string;
  readonly expectedCompletionTime?: string;
  readonly completionTime?: string;
  readonly message?: string;
}

/** A requester as an Eviction counts it. */
export interface EvictionRequester {
  readonly name: string;
  readonly intent: Intent;
}

export interface EvictionStatus {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
  readonly requesters?: readonly EvictionRequester[];
  readonly targetResponders?: readonly TargetResponder[];
  readonly responders?: readonly ResponderStatus[];
}

/** The eviction of one pod, for all of its requesters. */
export interface Eviction extends KubeObject {
  readonly spec: { readonly target: { readonly pod?: PodReference } };
  readonly status?: EvictionStatus;
}
