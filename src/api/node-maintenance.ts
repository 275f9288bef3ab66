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

/**
 * Ours: kinds of pods that a drain leaves alone. Unmanaged and EmptyDir are Default pods that no controller owns, and those
 * with an emptyDir volume: what they have is lost when they leave.
 */
export type KeptPods = 'DaemonSet' | 'Static' | 'Unmanaged' | 'EmptyDir';

/** KEP-4212, NodeMaintenanceSpec. */
export interface NodeMaintenanceSpec {
  readonly nodeSelector: NodeSelector;
  readonly stage?: Stage;
  readonly drainPlan?: readonly DrainPlanEntry[];
  readonly reason?: string;
  /** Ours: the pods that stay; none where it is absent. */
  readonly keepPods?: readonly KeptPods[];
}

/** KEP-4212, StageStatus. */
interface StageStatus {
  readonly name: Stage;
  readonly startTimestamp: string;
}

/** KEP-4212, NodeMaintenanceNodeStatus. */
export interface NodeStatus {
  /** The name is the KEP's; the UID of the Node object is ours, to recognise a node that registers again. */
  readonly nodeRef: { readonly name: string; readonly uid?: string };
  readonly drainTargets?: readonly DrainPlanEntry[];
  /** Ours: the number of entries of the effective drain plan that the node has reached; it never decreases. */
  readonly drainPlanPosition?: number;
  /**
   * Ours: when the drain of this node began, RFC 3339: when its pods were targeted first. It is written once; a node that waits
   * for others has none.
   */
  readonly drainStartTime?: string;
  readonly drainMessage?: string;
  readonly podsPendingEvacuation?: number;
  readonly podsEvacuating?: number;
  /** Ours: the number of pods when the drain of the node began. */
  readonly podsAtStart?: number;
  /** Ours: the share of those pods that are gone, in percent. */
  readonly progressPercent?: number;
  /** Ours: when the node is expected to be drained, RFC 3339. */
  readonly expectedFinishTime?: string;
  /**
   * Ours: true where PodDisruptionBudgets are not asked, because the machine goes down and no other node stays: the agent of
   * the node ends the pods that they keep, and those of which a webhook cannot be asked.
   */
  readonly budgetsNotAsked?: true;
  /** Ours: pods that block the drain, and why. */
  readonly podsBlocking?: readonly BlockingPod[];
  /** Ours: volumes that are still mounted or attached although the pods that used them are gone. */
  readonly volumesInUse?: VolumesInUse;
  /** Ours: DaemonSets, NAMESPACE/NAME, that ignore the gate and recreate their pods. */
  readonly escapedDaemonSets?: readonly string[];
}

/** Ours: nodes with the same targets and position, of which a status that would be too large has no details. */
export interface NodeGroup extends Pick<NodeStatus, 'drainTargets' | 'drainPlanPosition'> {
  readonly nodes: readonly (NodeStatus['nodeRef'] & Pick<NodeStatus, 'drainStartTime'>)[];
}

/** A pod that blocks a drain. */
export interface BlockingPod {
  readonly namespace: string;
  readonly name: string;
  readonly reason:
    | 'PodDisruptionBudget'
    | 'EvictionRefused'
    | 'EvictionFailed'
    | 'Interceptor'
    | 'InterceptorSilent'
    | 'NoInterceptor'
    | 'NoAgent'
    | 'NotSupported'
    | 'RequestHeld'
    | 'Finalizer'
    | 'NodeUnreachable'
    | 'NotEnding'
    | 'Returning'
    | 'VolumesInUse';
  readonly message: string;
  /** Since when, RFC 3339. */
  readonly since: string;
}

/** Volumes that a node says are in use although only pods are left there that do not use them. */
export interface VolumesInUse {
  /** The first of their unique names. */
  readonly names: readonly string[];
  /** Since when the drain waits for them, RFC 3339. */
  readonly since: string;
  /** Whether the drain does not wait for them any more. */
  readonly givenUp?: boolean;
}

/** Ours: a summary of the statuses of all nodes. */
export interface MaintenanceSummary {
  /** The names of the nodes; of a long list the first ones and the number of the others. */
  readonly nodes: string;
  readonly podsPendingEvacuation?: number;
  readonly podsEvacuating?: number;
  /** For people: what is left out of a status that would be too large. */
  readonly leftOut?: string;
  /** The pods of all nodes that block, by reason; only where some of them are left out. */
  readonly podsBlocking?: readonly { readonly reason: string; readonly pods: number }[];
}

/** KEP-4212, NodeMaintenanceStatus. */
export interface NodeMaintenanceStatus {
  readonly stageStatuses?: readonly StageStatus[];
  readonly nodeStatuses?: readonly NodeStatus[];
  /** Ours: the nodes that have no entry in `nodeStatuses`. `nodeStatusesOf` reads both. */
  readonly nodeGroups?: readonly NodeGroup[];
  /** Ours: for the columns of a table. */
  readonly summary?: MaintenanceSummary;
  /** Ours: the number of entries of the effective drain plan that all nodes have reached; 0 while there are no nodes. */
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

/**
 * The reasons of that condition for a drain that may not begin yet: other drains go first, it is not the turn of the machine to
 * reboot, or the control plane would lose its quorum with the machine that reboots.
 */
export const WAIT_REASONS = ['Waiting', 'WaitingForTurn', 'WaitingForControlPlane'] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];
