import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { readAddons, readPolicies, readPolicyObjects } from '../../../../src/cli/check/policies.ts';
import type { AddonFact } from '../../../../src/show/checks/cluster-checks.ts';
import { MUTATING_POLICIES, VALIDATING_POLICIES } from '../../../../src/show/checks/installed.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const SURGE = ['nodemaint-surge-deployments', 'nodemaint-surge-pods', 'nodemaint-surge-eviction-requests'];

/** A cluster with these objects, by their paths; collections of policies are empty unless they are given. */
function clusterOf(objects: Readonly<Record<string, readonly string[]>>): <T>(path: string) => Promise<T | undefined> {
  return <T>(path: string) => {
    const found = objects[path.replace(`${REGISTRATION}/`, '')];
    const items = (found ?? []).map((name) => ({ metadata: { name } }));
    return Promise.resolve((found === undefined ? undefined : { items }) as T | undefined);
  };
}

async function addonsOf(objects: Readonly<Record<string, readonly string[]>>): Promise<readonly AddonFact[]> {
  const get = clusterOf(objects);
  return await readAddons(get, await readPolicyObjects(get));
}

describe('what is read of the policies of add-ons', () => {
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/nodemaint-surge';
  const account = '/api/v1/namespaces/nodemaint-system/serviceaccounts/nodemaint-surge';
  const deployment = '/apis/apps/v1/namespaces/nodemaint-system/deployments/nodemaint-surge';

  it('an add-on of which nothing is there needs no policy, also where its policies are there', async () => {
    assert.deepEqual(await addonsOf({}), []);
    assert.deepEqual(await addonsOf({ validatingadmissionpolicies: SURGE }), []);
  });

  for (const [what, path] of Object.entries({
    'its role': role,
    'its account': account,
    'its Deployment': deployment,
  })) {
    it(`an add-on is installed where ${what} is there, and lacks the policies and the rights that are not`, async () => {
      const missing = path === role ? SURGE : [...SURGE, 'the ClusterRoleBinding nodemaint-surge'];
      assert.deepEqual(await addonsOf({ [path]: [] }), [{ folder: 'surge', missing, warnings: [] }]);
    });
  }

  it('a policy without its binding does nothing', async () => {
    const found = await addonsOf({
      [role]: [],
      validatingadmissionpolicies: SURGE,
      validatingadmissionpolicybindings: SURGE.slice(1),
    });
    assert.deepEqual(found, [
      { folder: 'surge', missing: ['the binding of nodemaint-surge-deployments'], warnings: [] },
    ]);
  });
});

describe('what is read of the policies of the core', () => {
  const all = {
    validatingadmissionpolicies: VALIDATING_POLICIES,
    validatingadmissionpolicybindings: VALIDATING_POLICIES,
    mutatingadmissionpolicies: MUTATING_POLICIES,
    mutatingadmissionpolicybindings: MUTATING_POLICIES,
  };
  it('those that are not there are named, and before Kubernetes 1.36 a validating one stands in for those that mutate', async () => {
    const read = async (objects: Readonly<Record<string, readonly string[]>>): Promise<unknown> =>
      readPolicies(await readPolicyObjects(clusterOf(objects)));
    const whole = { missing: [], warnings: [], refusesPods: false, hasOlderNames: false };
    assert.deepEqual(await read(all), whole);
    const { mutatingadmissionpolicies: _, mutatingadmissionpolicybindings: __, ...older } = all;
    const gated = [...VALIDATING_POLICIES, MUTATING_POLICIES[0]];
    assert.deepEqual(
      await read({ ...older, validatingadmissionpolicies: gated, validatingadmissionpolicybindings: gated }),
      { ...whole, refusesPods: true },
    );
    assert.deepEqual(await read(older), { ...whole, missing: [...MUTATING_POLICIES] });
  });

  for (const [file, expected] of [
    ['node-identity-names.yaml', false],
    ['older-agents/names.yaml', true],
  ] as const) {
    it(`the policy of ${file} ${expected ? 'lets' : 'does not let'} nodes have the names of older agents`, async () => {
      const text = await readFile(path.join(import.meta.dirname, '../../../../manifests/policies', file), 'utf8');
      const items = parseAllDocuments(text).map((document) => document.toJS() as { kind: string });
      const policies = { items: items.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy') };
      const get = <T>(wanted: string): Promise<T | undefined> =>
        Promise.resolve((wanted.endsWith('/validatingadmissionpolicies') ? policies : undefined) as T | undefined);
      assert.equal(readPolicies(await readPolicyObjects(get)).hasOlderNames, expected);
    });
  }
});
