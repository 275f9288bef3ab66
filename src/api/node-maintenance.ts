import type { Condition, KubeObject, LabelSelector, NodeSelector } from './meta.ts';

/** KEP-4212, NodeMaintenanceStage. The order is Idle, Cordon, Drain, Complete. */
export type Stage = 'Idle' | 'Cordon' | 'Drain' | 'Complete';

/** KEP-4212, PodType: Default is every pod that is neither a DaemonSet's nor static. */
export type PodType = 'Default' | 'DaemonSet' | 'Static';

/** KEP-4212, DrainPlanEntry: pods of the type, with at most this priority, that match the selector if there is one. */
export interface DrainPlanEntry {
  readonly podType: PodType;
  readonly podPriority: number;
  readonly podSelector?: LabelSelector;
}

/** KEP-4212, NodeMaintenanceSpec. */
export interface NodeMaintenanceSpec {
  readonly nodeSelector: NodeSelector;
  readonly stage?: Stage;
  readonly drainPlan?: readonly DrainPlanEntry[];
  readonly reason?: string;
}

/** KEP-4212, StageStatus. */
export interface StageStatus {
  readonly name: Stage;
  readonly startTimestamp: string;
}

/** KEP-4212, NodeMaintenanceNodeStatus. */
export interface NodeStatus {
  readonly nodeRef: { readonly name: string };
  readonly drainTargets?: readonly DrainPlanEntry[];
  readonly drainMessage?: string;
  readonly podsPendingEvacuation?: number;
  readonly podsEvacuating?: number;
  /** Ours: how many pods there were when the drain of the node began. */
  readonly podsAtStart?: number;
  /** Ours: how many of them are gone, in percent. */
  readonly progressPercent?: number;
  /** Ours: when the node is expected to be drained, as far as the pods say. */
  readonly expectedFinishTime?: string;
  /** Ours: pods that keep the drain from going on, and why. */
  readonly podsBlocking?: readonly BlockingPod[];
  /** Ours: DaemonSets, NAMESPACE/NAME, whose pods come back in spite of the drain. */
  readonly escapedDaemonSets?: readonly string[];
}

/** A pod that keeps a drain from going on. */
export interface BlockingPod {
  readonly namespace: string;
  readonly name: string;
  readonly reason:
    | 'PodDisruptionBudget'
    | 'EvictionRefused'
    | 'Interceptor'
    | 'InterceptorSilent'
    | 'NoInterceptor'
    | 'NotSupported'
    | 'Finalizer'
    | 'NodeUnreachable'
    | 'NotEnding';
  readonly message: string;
  /** Since when, RFC 3339. */
  readonly since: string;
}

/** Ours: what the statuses of all nodes say together. */
export interface MaintenanceSummary {
  /** The names of the nodes; of many the first ones, and how many more there are. */
  readonly nodes: string;
  readonly podsPendingEvacuation: number;
  readonly podsEvacuating: number;
}

/** KEP-4212, NodeMaintenanceStatus. */
export interface NodeMaintenanceStatus {
  readonly stageStatuses?: readonly StageStatus[];
  readonly nodeStatuses?: readonly NodeStatus[];
  /** Ours: for the columns of a table. */
  readonly summary?: MaintenanceSummary;
  /** Ours: how many entries of the effective drain plan are reached; it only grows. */
  readonly drainPlanPosition?: number;
  readonly conditions?: readonly Condition[];
}

/** KEP-4212, NodeMaintenance. */
export interface NodeMaintenance extends KubeObject {
  readonly spec: NodeMaintenanceSpec;
  readonly status?: NodeMaintenanceStatus;
}

/** KEP-4212, DrainedCondition: all pods of all selected nodes are gone. */
export const DRAINED = 'Drained';
