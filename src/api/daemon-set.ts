import type { KubeObject, LabelSelector } from './meta.ts';

/** The parts of an apps/v1 DaemonSet that the rules look at. */
export interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly minReadySeconds?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string; readonly maxSurge?: number | string };
    };
  };
  readonly status?: { readonly observedGeneration?: number; readonly desiredNumberScheduled?: number };
}

/** The parts of an apps/v1 ControllerRevision that the rules look at. */
export interface ControllerRevision extends KubeObject {
  readonly revision: number;
}

/** On a pod and on a ControllerRevision: the hash of the template from which the pod was created. */
export const REVISION_HASH_LABEL = 'controller-revision-hash';
