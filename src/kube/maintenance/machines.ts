import { MACHINE_ANNOTATION, MACHINE_GROUP, MACHINE_NAMESPACE_ANNOTATION } from '../../api/machine.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Node } from '../../api/pod.ts';
import type { Resource } from '../resource.ts';

/** The groups that the API server serves, as if they were objects: which version of a group is preferred. */
export const API_GROUPS: Resource = { root: '', plural: 'apis', namespaced: false };

export interface ApiGroup extends KubeObject {
  readonly preferredVersion?: { readonly version?: unknown };
}

/** The group of Cluster API among them. */
export const MACHINE_API_GROUP = { name: MACHINE_GROUP };

/** The Machines in the version of Cluster API that the cluster prefers; undefined where it has none. */
export function machinesOf(group: ApiGroup | undefined): Resource | undefined {
  const version = group?.preferredVersion?.version;
  if (typeof version !== 'string' || !/^v[a-z0-9]{1,30}$/.test(version)) return undefined;
  return { root: `/apis/${MACHINE_GROUP}/${version}`, plural: 'machines', namespaced: true };
}

/** Which Machine a node belongs to. */
interface MachineRef {
  readonly namespace: string;
  readonly name: string;
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The Machine that the node names itself; undefined where it names none. A node may write what it likes there. */
export function machineOf({ metadata }: Node): MachineRef | undefined {
  const name = metadata.annotations?.[MACHINE_ANNOTATION] ?? '';
  const namespace = metadata.annotations?.[MACHINE_NAMESPACE_ANNOTATION] ?? '';
  return NAME.test(name) && NAME.test(namespace) ? { namespace, name } : undefined;
}
