import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import type { KubeObject } from '../../api/meta.ts';
import { objectPath, type Resource } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { listOf, type ReleaseContext } from './revert.ts';

/** A RoleBinding or ClusterRoleBinding, as far as it is needed here. */
export interface Binding extends KubeObject {
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const BINDINGS: readonly Resource[] = [
  { root: RBAC, plural: 'clusterrolebindings', namespaced: false },
  { root: RBAC, plural: 'rolebindings', namespaced: true },
];

/**
 * Whether a binding is one of the product's manifests: it has their prefix, and gives rights to nobody but nodes and the
 * accounts of its namespace. The bindings by which an administrator lets people drain nodes are none.
 */
export function isOfManifests({ metadata, subjects = [] }: Binding): boolean {
  const isOurs = ({ kind, name, namespace }: NonNullable<Binding['subjects']>[number]): boolean =>
    kind === 'ServiceAccount' ? namespace === CONTROLLER_NAMESPACE : kind === 'Group' && name === 'system:nodes';
  return metadata.name.startsWith('nodemaint-') && subjects.length > 0 && subjects.every(isOurs);
}

/**
 * Takes the rights of nodes and the controller, whose policies the deletion of the manifests takes away in an
 * order that is not ours: so none of them is ever without the policies that restrict it.
 */
export async function removeRights({ client, say }: ReleaseContext, signal: AbortSignal): Promise<void> {
  for (const resource of BINDINGS) {
    const found = await listOf<Binding>(client, resource, {}, signal);
    for (const { metadata } of found.filter(isOfManifests)) {
      await sendForObject(client, { method: 'DELETE', path: objectPath(resource, metadata) }, [404], signal);
    }
  }
  say('The rights of the controller and the nodes are taken away.');
}
