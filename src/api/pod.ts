import type { KubeObject, LabelSelector, NodeSelector } from './meta.ts';

/** The parts of a v1 Pod that the rules look at. */
export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly priority?: number;
    readonly terminationGracePeriodSeconds?: number;
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly evictionInterceptors?: readonly { readonly name: string }[];
    readonly workloadRef?: object;
    readonly schedulingGroup?: object;
    readonly affinity?: PodAffinity;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
    readonly volumes?: readonly PodVolume[];
    /** Read only where a static pod is one of the control plane's. */
    readonly containers?: readonly object[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly PodCondition[];
  };
}

/** The parts of a v1.Volume that the rules look at: what needs a driver, and what is on the node's own disk. */
export interface PodVolume {
  readonly name?: string;
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: object;
  readonly ephemeral?: object;
  readonly csi?: { readonly driver: string };
  readonly hostPath?: { readonly path: string };
}

/** v1.PodCondition. */
interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string | null;
}

interface PodAffinity {
  readonly nodeAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector };
}

/** v1.Toleration. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

/** v1.Taint. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect?: string;
  readonly timeAdded?: string;
}

/** v1.NodeCondition. */
export interface NodeCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

/** The parts of a v1 Node that the rules look at. */
export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly conditions?: readonly NodeCondition[];
    readonly addresses?: readonly { readonly address: string }[];
    /** The attachable volumes that are mounted on the node or about to be, by their unique names; the kubelet reports them. */
    readonly volumesInUse?: readonly string[];
    /** Those that are attached to the node; the attach/detach controller reports them until it begins to detach them. */
    readonly volumesAttached?: readonly { readonly name: string }[];
    /** Reported by the kubelet at its last start; contains the kernel's boot ID. */
    readonly nodeInfo?: { readonly bootID: string };
  };
}

/** A node with the words in which the API server prints its state, such as "Ready,SchedulingDisabled". */
export interface ListedNode extends KubeObject {
  readonly nodeStatus: string;
}

/** The parts of a policy/v1 PodDisruptionBudget that the rules look at. */
export interface PodDisruptionBudget extends KubeObject {
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
  };
}
