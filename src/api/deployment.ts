import type { KubeObject } from './meta.ts';

/** The parts of an apps/v1 Deployment that the rules look at. */
export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: number | string };
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** On a pod: which pods of a ReplicaSet are deleted first when it is scaled down; those with the lowest number. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';
