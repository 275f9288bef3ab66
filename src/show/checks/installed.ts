/** What the manifests of this version install in a cluster, as far as `nodemaint check` looks for it. */
import { CONTROLLER_NAMESPACE, EVICTION_REQUEST_GROUP, NODE_MAINTENANCE_GROUP } from '../../api/names.ts';

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

/** The validating policies, each with its binding of the same name: the hash of what both say in the manifests. */
export const VALIDATING_POLICIES: Readonly<Record<string, string>> = {
  'nodemaint-controller-pods': 'WPQaKUmtFTRVDWK-9xNHulogQVEsSt4_x30zWDgFAq8',
  'nodemaint-controller-nodes': 'BgGdPqrK_HJgIRP6ev5Vfv287JWRn2R2pCxDnk0ma-0',
  'nodemaint-controller-own-objects': 'A5Yen1oqkGeTPZHAFx7btTEmSZcoHmfNYFSxfS8bQEI',
  'nodemaint-cordons': '6sSg5aEUja1sUa7AyZ55J5rf4bKpgkoiaRvUyXfg5NM',
  'nodemaint-eviction-request-status': '2aOzVtV4CO_QaJcEiB3WGSOheXCNw6nQi_NJJWIAQ-4',
  'nodemaint-eviction-requests': 'osJW_QnG2920XJE_H1GbXppXvDI72_EGYPjeXY2zmmQ',
  'nodemaint-held-pods': '9HR_3AURt7WYjQ5kF1AY7V1BoY1QEB_St7zAgIntDNA',
  'nodemaint-held-pods-in-time': 'dPm4HrrlAHhWFCEvF7i0F65VY9f_A5rCQO0O6BYmOK0',
  'nodemaint-node-maintenances': 'JonGQPLvvCwnZu1twSTyC0RIGVNKJcMWix0W-CAzSmo',
  'nodemaint-pod-interceptors': 'P1rnOf0lisNPcGz3jjaatU7V0vNnoz2te8ge3j0WYFs',
};

const GATE = 'nodemaint-daemonset-gate';

/** The policies that mutate; before Kubernetes 1.36 there are none. */
export const MUTATING_POLICIES: Readonly<Record<string, string>> = {
  [GATE]: 'eJH06pYuUzicIGBOqw9tIztz8QTttGr9dWS3_6MffNw',
  'nodemaint-node-maintenance-plan': 'OveS0qeiP-vBfLXU7wxIcMAE7JWxSngF7vYcc26kK34',
  'nodemaint-requested-by': 'chk9HY_pfg84cpiDQix3xmz_1RIFElalL7Z8ig38nOw',
};

/** The validating policy that stands in for the gate before Kubernetes 1.36. */
export const REFUSAL: Readonly<Record<string, string>> = { [GATE]: '8QVDsc8-4t_wqjUaWKUK2yl5U0zvfMoDKO8XVHnFv_Q' };

/** What of the policies is there. */
export interface PolicyFacts {
  /** The policies, and the bindings, that are not there. */
  readonly missing: readonly string[];
  /** The policies that say something else than those of this version, or whose bindings do. */
  readonly changed: readonly string[];
  /** Whether a validating policy stands in for the gate, as before Kubernetes 1.36. */
  readonly refusesPods: boolean;
}

/** What the policies of a kind say, by their names; '' for one without a binding. */
type SaidByName = ReadonlyMap<string, string>;

/** What is wrong with the policies. Before Kubernetes 1.36 the manifests have none that mutate. */
export function policyFacts(validating: SaidByName, mutating: SaidByName): PolicyFacts {
  const refusesPods = validating.has(GATE) && !mutating.has(GATE);
  const facts = { missing: new Array<string>(), changed: new Array<string>(), refusesPods };
  const compare = (wanted: Readonly<Record<string, string>>, found: SaidByName): void => {
    for (const [name, said] of Object.entries(wanted)) {
      const other = found.get(name);
      if (other === undefined) facts.missing.push(name);
      else if (other === '') facts.missing.push(`the binding of ${name}`);
      else if (other !== said) facts.changed.push(name);
    }
  };
  compare(VALIDATING_POLICIES, validating);
  compare(refusesPods ? REFUSAL : MUTATING_POLICIES, refusesPods ? validating : mutating);
  return facts;
}

/** A part of the manifests that gives rights: its roles, each of which has a binding of its name. */
interface RolesOf {
  readonly part: 'core' | 'webhook' | 'release';
  readonly roles: readonly string[];
}

const HOME = `namespaces/${CONTROLLER_NAMESPACE}/roles`;

/** The roles of agents and controller by their paths; those of the webhook, and of the account that releases gated pods, may be left out. */
export const ROLES: readonly RolesOf[] = [
  {
    part: 'core',
    roles: [
      'clusterroles/nodemaint-agent',
      `${HOME}/nodemaint-agent`,
      'namespaces/kube-node-lease/roles/nodemaint-agent',
      'clusterroles/nodemaint-controller',
      `${HOME}/nodemaint-leader-election`,
    ],
  },
  { part: 'webhook', roles: [`${HOME}/nodemaint-webhook`] },
  { part: 'release', roles: ['clusterroles/nodemaint-agent-release', `${HOME}/nodemaint-agent-release`] },
];

/** A role and its binding, by their paths. */
export function withBinding(role: string): readonly string[] {
  return [role, role.replace('roles/', 'rolebindings/')];
}

/** What of the rights is there. */
export interface RightsFacts {
  /** The roles and bindings that are missing. */
  readonly missing: readonly string[];
  /** The bindings that give their rights to an account of another namespace, which no policy restricts. */
  readonly elsewhere: readonly string[];
  /** Whether the account that releases gated pods is left out. */
  readonly isReleaseOff: boolean;
}

/** A role, which has no subjects, or a binding. */
export interface Bound {
  readonly subjects?: readonly { readonly kind: string; readonly namespace?: string }[];
}

/** What is wrong with the roles and bindings that are there, by their paths: a part of which nothing is there is left out, but for the core. */
export function rightsFacts(there: ReadonlyMap<string, Bound>): RightsFacts {
  const parts = ROLES.map(({ part, roles }) => {
    const all = roles.flatMap(withBinding);
    const missing = all.filter((path) => !there.has(path));
    return { part, missing, isOff: part !== 'core' && missing.length === all.length };
  });
  const isElsewhere = ({ subjects = [] }: Bound): boolean =>
    subjects.some(({ kind, namespace }) => kind === 'ServiceAccount' && namespace !== CONTROLLER_NAMESPACE);
  return {
    elsewhere: [...there].filter(([, binding]) => isElsewhere(binding)).map(([path]) => path),
    missing: parts.flatMap(({ missing, isOff }) => (isOff ? [] : missing)),
    isReleaseOff: parts.some(({ part, isOff }) => part === 'release' && isOff),
  };
}
