/** What earlier versions put into a cluster and this one does not know any more. */

/** A list in which such objects may be, as kubectl names the resource. */
interface LeftOverPlace {
  readonly resource: string;
  readonly path: string;
  /** Whether every object of the list is left over: it selects by a label that has no use any more. */
  readonly isAll: boolean;
}

/** How the objects of each part that is gone are called, or how their names begin; and policies and roles that are part of another one now. */
const GONE: readonly string[] = [
  'nodemaint-cluster-api',
  'nodemaint-controller-config-maps',
  'nodemaint-lifecycle',
  'nodemaint-notify',
  'nodemaint-stories',
  'nodemaint-surge',
  'nodemaint-controller-eviction-requests',
  'nodemaint-controller-events',
  'nodemaint-controller-evictions',
  'nodemaint-controller-leases',
  'nodemaint-controller-maintenances',
  'nodemaint-controller-node-status',
  'nodemaint-controller-pod-deletions',
  'nodemaint-controller-secrets',
  'nodemaint-controller-webhook',
  'nodemaint-evictionrequests-view',
  'nodemaint-maintenance-words',
  'nodemaint-node-eviction-requests',
  'nodemaint-node-maintenance-names',
  'nodemaint-node-maintenance-nodes',
  'nodemaint-nodemaintenances-view',
  'nodemaint-release',
  'nodemaint-requested-by-is-true',
];

const HOME = 'namespaces/nodemaint-system';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

function placeOf(resource: string, path: string, isAll = false): LeftOverPlace {
  return { resource, path, isAll };
}

/** Where to look. A binding goes with its policy, and what else is in the namespace with its Deployment. */
export const LEFT_OVER_PLACES: readonly LeftOverPlace[] = [
  placeOf('deployment', `/apis/apps/v1/${HOME}/deployments`),
  placeOf('role', `${RBAC}/${HOME}/roles`),
  placeOf('clusterrole', `${RBAC}/clusterroles`),
  placeOf('clusterrolebinding', `${RBAC}/clusterrolebindings`),
  placeOf('validatingadmissionpolicy', `${REGISTRATION}/validatingadmissionpolicies`),
  placeOf('mutatingadmissionpolicy', `${REGISTRATION}/mutatingadmissionpolicies`),
  placeOf('configmap', `/api/v1/${HOME}/configmaps?labelSelector=nodemaintenance.x-k8s.io%2Fstory`, true),
];

/** Those of the objects of a list that are left over, as RESOURCE/NAME. */
export function leftOversOf({ resource, isAll }: LeftOverPlace, names: readonly string[]): readonly string[] {
  const found = names.filter((name) => isAll || GONE.some((gone) => name === gone || name.startsWith(`${gone}-`)));
  return found.map((name) => `${resource}/${name}`);
}
