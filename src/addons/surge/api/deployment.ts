import type { KubeObject } from '../../../api/meta.ts';
import type { Resource } from '../../../kube/resource.ts';

export const DEPLOYMENTS: Resource = { root: '/apis/apps/v1', plural: 'deployments', namespaced: true };
export const REPLICA_SETS: Resource = { root: '/apis/apps/v1', plural: 'replicasets', namespaced: true };

/** The parts of an apps/v1 Deployment that the rules look at. */
export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: number | string };
    };
    readonly template?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** On a pod: which pods of a ReplicaSet are deleted first when it is scaled down; those with the lowest number. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';
