/** Reads which admission policies a cluster has, for `nodemaint check`. */
import type { KubeObject } from '../../api/meta.ts';
import type { PolicyFacts } from '../../show/checks/cluster-checks.ts';
import {
  MUTATING_POLICIES,
  type PolicyNames,
  VALIDATING_POLICIES,
  policyWarnings,
} from '../../show/checks/installed.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

/** The object of a path; undefined where there is none. */
type Get = <T>(path: string) => Promise<T | undefined>;

interface Policy extends KubeObject {
  readonly spec?: { readonly paramKind?: object; readonly variables?: readonly { readonly name: string }[] };
  readonly status?: {
    readonly typeChecking?: { readonly expressionWarnings?: readonly { readonly warning: string }[] };
  };
}

/** Policies of one kind and their bindings, by their names. */
interface BoundPolicies {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly bindings: ReadonlyMap<string, KubeObject>;
}

/** All policies of a cluster; none of a kind that its API server does not have. */
interface PolicyObjects {
  readonly validating: BoundPolicies;
  readonly mutating: BoundPolicies;
}

async function byName<T extends KubeObject>(get: Get, plural: string): Promise<ReadonlyMap<string, T>> {
  const list = await get<{ readonly items?: readonly T[] }>(`${REGISTRATION}/${plural}`);
  return new Map((list?.items ?? []).map((item) => [item.metadata.name, item]));
}

/** Reads all policies and bindings. */
export async function readPolicyObjects(get: Get): Promise<PolicyObjects> {
  const [validating, validatingBindings, mutating, mutatingBindings] = await Promise.all([
    byName<Policy>(get, 'validatingadmissionpolicies'),
    byName<KubeObject>(get, 'validatingadmissionpolicybindings'),
    byName<Policy>(get, 'mutatingadmissionpolicies'),
    byName<KubeObject>(get, 'mutatingadmissionpolicybindings'),
  ]);
  return {
    validating: { policies: validating, bindings: validatingBindings },
    mutating: { policies: mutating, bindings: mutatingBindings },
  };
}

/** Those of the policies, and of their bindings, that are not there. */
function missingOf({ validating, mutating }: PolicyObjects, names: PolicyNames): readonly string[] {
  const missing = (wanted: readonly string[], { policies, bindings }: BoundPolicies): readonly string[] =>
    wanted.flatMap((name) => {
      if (!policies.has(name)) return [name];
      return bindings.has(name) ? [] : [`the binding of ${name}`];
    });
  return [...missing(names.validating, validating), ...missing(names.mutating, mutating)];
}

function warningsOf({ validating }: PolicyObjects, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const { spec, status } = validating.policies.get(name) ?? {};
    const texts = (status?.typeChecking?.expressionWarnings ?? []).map(({ warning }) => warning);
    return policyWarnings({ name, hasParams: spec?.paramKind !== undefined, warnings: texts });
  });
}

/** The policies, and what of them is not there. */
export function readPolicies(objects: PolicyObjects): PolicyFacts {
  const [gate] = MUTATING_POLICIES;
  // Before Kubernetes 1.36 the manifests have no policies that mutate.
  const refusesPods = objects.validating.policies.has(gate) && !objects.mutating.policies.has(gate);
  const names = refusesPods
    ? { validating: [...VALIDATING_POLICIES, gate], mutating: [] }
    : { validating: VALIDATING_POLICIES, mutating: MUTATING_POLICIES };
  return { missing: missingOf(objects, names), warnings: warningsOf(objects, VALIDATING_POLICIES), refusesPods };
}
