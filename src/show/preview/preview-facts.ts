/** What a preview of a drain goes by. */
import type { KubeObject } from '../../api/meta.ts';
import type { DrainPlanEntry, KeptPods, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../api/pod.ts';

/** The parts of an apps/v1 DaemonSet that a preview looks at. */
export interface PreviewDaemonSet extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: { readonly nodeName?: string } } };
}

/** The input of a preview. */
export interface PreviewFacts {
  readonly node: Node;
  /** Maintenances that select the node. */
  readonly maintenances: readonly NodeMaintenance[];
  /** Pods of the node. */
  readonly pods: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
  /** The nodes that are not to be drained; absent where they need not be known, or may not be read. */
  readonly others?: readonly Node[];
  /** The DaemonSets of pods on the node, as far as they can be read. */
  readonly daemonSets: readonly PreviewDaemonSet[];
  /** Whether the cluster has the policy that gates DaemonSet pods; undefined where that cannot be read. */
  readonly isGateInstalled: boolean | undefined;
  /** How a drain would harm the control plane; absent where it would not. */
  readonly controlPlaneHarm?: string;
  /** The present, in milliseconds since the epoch; absent where the reports of agents do not matter. */
  readonly now?: number;
  /** How long the drain may take, in milliseconds; absent without a deadline. */
  readonly deadlineMs?: number;
  /** The plan of the maintenance; the default entries are added here. */
  readonly plan: readonly DrainPlanEntry[];
  /** The kinds of pods that the maintenance leaves alone; absent for none. */
  readonly keep?: readonly KeptPods[];
}
