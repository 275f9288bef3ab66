import type { KubeObject, LabelSelector } from './meta.ts';

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
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly PodCondition[];
  };
}

/** v1.PodCondition. */
export interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string | null;
}

interface PodAffinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly {
        readonly matchFields?: readonly {
          readonly key: string;
          readonly operator: string;
          readonly values?: readonly string[];
        }[];
      }[];
    };
  };
}

/** v1.NodeCondition. */
export interface NodeCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

/** The parts of a v1 Node that the rules look at. */
export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly NodeCondition[];
    /** Reported by the kubelet at its last start; contains the kernel's boot ID. */
    readonly nodeInfo?: { readonly bootID: string };
  };
}

/** The parts of a policy/v1 PodDisruptionBudget that the rules look at. */
export interface PodDisruptionBudget extends KubeObject {
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: { readonly disruptionsAllowed?: number };
}
