/** What the manifests of this version install in a cluster, as far as `nodemaint check` looks for it. */
import { EVICTION_REQUEST_GROUP, NODE_MAINTENANCE_GROUP } from '../../api/names.ts';

/** What the API server's check of the types in a ValidatingAdmissionPolicy says. */
interface PolicyTypeCheck {
  readonly name: string;
  /** Whether the policy has parameters (spec.paramKind). */
  readonly hasParams: boolean;
  /** status.typeChecking.expressionWarnings[].warning */
  readonly warnings: readonly string[];
}

const MAX_CHARACTERS = 200;
const UNKNOWN_PARAMS = "undeclared reference to 'params'";

/**
 * Whether the API server did not know the kind of the parameters when it checked the policy, because the custom resource was
 * just made. It does not check again until the policy changes, and the policy works (typechecking.go of
 * k8s.io/apiserver, 1.34 to 1.37).
 */
function isOfEarlyCheck(warning: string): boolean {
  const errors = warning.split('\n').filter((line) => line.includes('ERROR: '));
  return errors.length > 0 && errors.every((line) => line.includes(UNKNOWN_PARAMS));
}

/** The warnings of a policy that a person has to look at, each with the policy's name, cut to a length that fits a table. */
export function policyWarnings({ name, hasParams, warnings }: PolicyTypeCheck): readonly string[] {
  const real = warnings.filter((warning) => !(hasParams && isOfEarlyCheck(warning)));
  return real.map((warning) => `${name}: ${warning.slice(0, MAX_CHARACTERS)}`);
}

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

/** Names of admission policies, each of which has a binding of its name. */
export interface PolicyNames {
  readonly validating: readonly string[];
  readonly mutating: readonly string[];
}

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

/** Something that an identity of this program must be allowed to do. */
export interface NeededRight {
  /** `release` is the account as which agents release gated pods. */
  readonly who: 'agents' | 'controller' | 'release';
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The name of all objects of manifests/rbac/agent-release.yaml. */
export const RELEASE_ACCOUNT = 'nodemaint-agent-release';

const NAMESPACE = 'nodemaint-system';
const COORDINATION = 'coordination.k8s.io';

/** One right or more of each role of the core that the manifests bind, without those of the webhook. */
export const NEEDED_RIGHTS: readonly NeededRight[] = [
  { who: 'agents', verb: 'create', group: NODE_MAINTENANCE_GROUP, resource: 'nodemaintenances' },
  { who: 'agents', verb: 'patch', group: NODE_MAINTENANCE_GROUP, resource: 'nodemaintenances', subresource: 'status' },
  { who: 'agents', verb: 'watch', group: EVICTION_REQUEST_GROUP, resource: 'evictionrequests' },
  {
    who: 'agents',
    verb: 'get',
    group: COORDINATION,
    resource: 'leases',
    namespace: NAMESPACE,
    name: 'nodemaint-controller',
  },
  { who: 'agents', verb: 'list', group: COORDINATION, resource: 'leases', namespace: 'kube-node-lease' },
  {
    who: 'agents',
    verb: 'impersonate',
    group: '',
    resource: 'serviceaccounts',
    namespace: NAMESPACE,
    name: RELEASE_ACCOUNT,
  },
  { who: 'release', verb: 'deletecollection', group: '', resource: 'pods' },
  {
    who: 'controller',
    verb: 'patch',
    group: NODE_MAINTENANCE_GROUP,
    resource: 'nodemaintenances',
    subresource: 'status',
  },
  { who: 'controller', verb: 'create', group: EVICTION_REQUEST_GROUP, resource: 'evictionrequests' },
  { who: 'controller', verb: 'delete', group: EVICTION_REQUEST_GROUP, resource: 'evictionrequests' },
  { who: 'controller', verb: 'create', group: '', resource: 'pods', subresource: 'eviction' },
  { who: 'controller', verb: 'patch', group: '', resource: 'nodes' },
  { who: 'controller', verb: 'watch', group: 'policy', resource: 'poddisruptionbudgets' },
  {
    who: 'controller',
    verb: 'update',
    group: COORDINATION,
    resource: 'leases',
    namespace: NAMESPACE,
    name: 'nodemaint-controller',
  },
];

/** The same of the roles of the webhook, where that is installed. */
export const WEBHOOK_RIGHTS: readonly NeededRight[] = [
  {
    who: 'controller',
    verb: 'patch',
    group: 'admissionregistration.k8s.io',
    resource: 'validatingwebhookconfigurations',
    name: 'nodemaint-webhook',
  },
  { who: 'controller', verb: 'patch', group: '', resource: 'secrets', namespace: NAMESPACE, name: 'nodemaint-webhook' },
];

/** What of the rights is there. */
export interface RightsFacts {
  /** The rights that are missing; without those of the release account where it is off. */
  readonly missing: readonly NeededRight[];
  /** Whether agents may release gated pods; `off` where the account is left out on purpose, `partly` where parts of it are there. */
  readonly release: 'on' | 'off' | 'partly';
}

function isOfRelease({ who, verb }: NeededRight): boolean {
  return who === 'release' || verb === 'impersonate';
}

/**
 * The facts from the rights that are missing and from which objects of the release account are there: where none is, and agents may
 * not act as it, somebody has left it out.
 */
export function rightsFacts(missing: readonly NeededRight[], releaseObjects: readonly boolean[]): RightsFacts {
  const mayImpersonate = !missing.some(({ verb }) => verb === 'impersonate');
  if (!releaseObjects.includes(true) && !mayImpersonate)
    return { missing: missing.filter((right) => !isOfRelease(right)), release: 'off' };
  const isWhole = !releaseObjects.includes(false) && !missing.some(isOfRelease);
  return { missing, release: isWhole ? 'on' : 'partly' };
}
