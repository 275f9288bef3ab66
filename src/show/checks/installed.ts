/** What the manifests of this version install in a cluster, as far as `nodemaint check` looks for it. */
import { EVICTION_REQUEST_GROUP, NODE_MAINTENANCE_GROUP } from '../../api/names.ts';

/** A custom resource, and fields of its schema: the newest ones that this version needs. */
export interface InstalledResource {
  readonly crd: string;
  readonly version: string;
  readonly fields: readonly string[];
}

export const INSTALLED_RESOURCES: readonly InstalledResource[] = [
  {
    crd: `nodemaintenances.${NODE_MAINTENANCE_GROUP}`,
    version: 'v1alpha1',
    fields: [
      'spec.drainPlan',
      'spec.keepPods',
      'status.nodeStatuses',
      'status.nodeGroups',
      'status.summary',
      'status.conditions',
    ],
  },
  {
    crd: `evictionrequests.${EVICTION_REQUEST_GROUP}`,
    version: 'v1alpha1',
    fields: [
      'spec.target',
      'spec.requesters',
      'status.activeInterceptors',
      'status.processedInterceptors',
      'status.conditions',
    ],
  },
];

/** The admission policies; each has a binding of the same name. */
export const VALIDATING_POLICIES = [
  'nodemaint-controller-pods',
  'nodemaint-controller-nodes',
  'nodemaint-controller-own-objects',
  'nodemaint-cordons',
  'nodemaint-eviction-request-status',
  'nodemaint-eviction-requests',
  'nodemaint-held-pods',
  'nodemaint-held-pods-in-time',
  'nodemaint-node-maintenances',
  'nodemaint-pod-interceptors',
] as const;
/** The policies that mutate, or before Kubernetes 1.36 what stands in for them: a validating one of the name, or nothing. */
export const MUTATING_POLICIES = [
  'nodemaint-daemonset-gate',
  'nodemaint-node-maintenance-plan',
  'nodemaint-requested-by',
] as const;

/** The policies of one kind that a cluster has, and their bindings, by their names. */
interface FoundPolicies {
  readonly policies: ReadonlySet<string>;
  readonly bindings: ReadonlySet<string>;
}

/** What of the policies is there. */
export interface PolicyFacts {
  /** The policies, and the bindings, that are not there. */
  readonly missing: readonly string[];
  /** Whether a validating policy stands in for the gate, as before Kubernetes 1.36. */
  readonly refusesPods: boolean;
}

function missingOf(names: readonly string[], { policies, bindings }: FoundPolicies): readonly string[] {
  return names.flatMap((name) => {
    if (!policies.has(name)) return [name];
    return bindings.has(name) ? [] : [`the binding of ${name}`];
  });
}

/** What is missing of the policies. Before Kubernetes 1.36 the manifests have none that mutate. */
export function policyFacts(validating: FoundPolicies, mutating: FoundPolicies): PolicyFacts {
  const [gate] = MUTATING_POLICIES;
  const refusesPods = validating.policies.has(gate) && !mutating.policies.has(gate);
  const missing = refusesPods
    ? missingOf([...VALIDATING_POLICIES, gate], validating)
    : [...missingOf(VALIDATING_POLICIES, validating), ...missingOf(MUTATING_POLICIES, mutating)];
  return { missing, refusesPods };
}

/** A part of the manifests that gives rights: its roles, each of which has a binding of its name. */
interface RolesOf {
  readonly part: 'core' | 'webhook' | 'release';
  readonly roles: readonly string[];
}

/** The roles of agents and controller by their paths; those of the webhook, and of the account that releases gated pods, may be left out. */
export const ROLES: readonly RolesOf[] = [
  {
    part: 'core',
    roles: [
      'clusterroles/nodemaint-agent',
      'namespaces/nodemaint-system/roles/nodemaint-agent',
      'namespaces/kube-node-lease/roles/nodemaint-agent',
      'clusterroles/nodemaint-controller',
      'namespaces/nodemaint-system/roles/nodemaint-leader-election',
    ],
  },
  { part: 'webhook', roles: ['clusterroles/nodemaint-webhook', 'namespaces/nodemaint-system/roles/nodemaint-webhook'] },
  {
    part: 'release',
    roles: ['clusterroles/nodemaint-agent-release', 'namespaces/nodemaint-system/roles/nodemaint-agent-release'],
  },
];

/** A role and its binding, by their paths. */
export function withBinding(role: string): readonly string[] {
  return [role, role.replace('roles/', 'rolebindings/')];
}

/** What of the rights is there. */
export interface RightsFacts {
  /** The roles and bindings that are missing. */
  readonly missing: readonly string[];
  /** Whether the account that releases gated pods is left out. */
  readonly isReleaseOff: boolean;
}

/** What is missing, by the paths of the roles and bindings that are there: a part of which nothing is there is left out, but for the core. */
export function rightsFacts(there: ReadonlySet<string>): RightsFacts {
  const parts = ROLES.map(({ part, roles }) => {
    const all = roles.flatMap(withBinding);
    const missing = all.filter((path) => !there.has(path));
    return { part, missing, isOff: part !== 'core' && missing.length === all.length };
  });
  return {
    missing: parts.flatMap(({ missing, isOff }) => (isOff ? [] : missing)),
    isReleaseOff: parts.some(({ part, isOff }) => part === 'release' && isOff),
  };
}
