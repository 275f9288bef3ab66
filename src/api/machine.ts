import type { KubeObject } from './meta.ts';

/** A Machine of Cluster API (cluster.x-k8s.io), as far as it is read here; the fields are the same in all its versions. */
export interface Machine extends KubeObject {
  readonly status?: { readonly nodeRef?: { readonly name?: string } };
}

export const MACHINE_GROUP = 'cluster.x-k8s.io';
/** On a Node, by Cluster API: the name of its Machine, and the namespace of its Cluster and Machine. */
export const MACHINE_ANNOTATION = 'cluster.x-k8s.io/machine';
export const MACHINE_NAMESPACE_ANNOTATION = 'cluster.x-k8s.io/cluster-namespace';
/** On a Machine: Cluster API drains its node and goes on only when no annotation with this beginning is left. */
export const PRE_DRAIN_HOOK = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/';
/** On a Machine: the machine is ended only when no annotation with this beginning is left. */
export const PRE_TERMINATE_HOOK = 'pre-terminate.delete.hook.machine.cluster.x-k8s.io/';
