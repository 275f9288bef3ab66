/** What earlier versions put into a cluster and this one does not know any more. */
import { CONTROLLER_NAMESPACE } from '../../api/names.ts';

/** A list in which such objects may be, as kubectl names the resource. */
interface LeftOverPlace {
  readonly resource: string;
  readonly path: string;
  /** The names that are left over; absent for those of the parts that are gone. */
  readonly names?: RegExp;
}

/** How the objects of each part that is gone are called, or how their names begin; and policies and roles that are part of another one now. */
const PARTS: readonly string[] = [
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
const GONE = new RegExp(`^(?:${PARTS.join('|')})(?:-|$)`);

const HOME = `namespaces/${CONTROLLER_NAMESPACE}`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

/** Where to look. A binding goes with its policy, and what else is in the namespace with its Deployment. */
export const LEFT_OVER_PLACES: readonly LeftOverPlace[] = [
  { resource: 'deployment', path: `/apis/apps/v1/${HOME}/deployments` },
  { resource: 'role', path: `${RBAC}/${HOME}/roles` },
  { resource: 'clusterrole', path: `${RBAC}/clusterroles` },
  { resource: 'clusterrolebinding', path: `${RBAC}/clusterrolebindings` },
  { resource: 'validatingadmissionpolicy', path: `${REGISTRATION}/validatingadmissionpolicies` },
  { resource: 'mutatingadmissionpolicy', path: `${REGISTRATION}/mutatingadmissionpolicies` },
  {
    resource: 'poddisruptionbudget',
    path: `/apis/policy/v1/${HOME}/poddisruptionbudgets`,
    names: /^nodemaint-controller$/,
  },
  {
    resource: 'configmap',
    path: `/api/v1/${HOME}/configmaps?labelSelector=nodemaintenance.x-k8s.io%2Fstory`,
    names: /^/,
  },
];

/** Those of the objects of a list that are left over, as RESOURCE/NAME. */
export function leftOversOf(
  { resource, names: pattern = GONE }: LeftOverPlace,
  names: Iterable<string>,
): readonly string[] {
  const found = [...names].filter((name) => pattern.test(name));
  return found.map((name) => `${resource}/${name}`);
}
