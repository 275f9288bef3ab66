import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLeftOvers, readPolicies, saidBy } from '../../../../src/cli/check/facts.ts';
import { MUTATING_POLICIES, type PolicyFacts, VALIDATING_POLICIES } from '../../../../src/show/checks/installed.ts';

describe('what is read of the policies of a cluster', () => {
  it('before Kubernetes 1.36 a validating policy stands in for those that mutate', async () => {
    /** The facts of a cluster that has these policies, which say nothing, and their bindings. */
    const read = async (...names: readonly string[]): Promise<PolicyFacts> =>
      await readPolicies(<T>(path: string) => {
        const items = names.map((name) => ({ metadata: { name } }));
        return Promise.resolve((path.includes('/validating') ? { items } : undefined) as T | undefined);
      });
    const [validating, mutating] = [Object.keys(VALIDATING_POLICIES), Object.keys(MUTATING_POLICIES)];
    const changed = [...validating, mutating[0] ?? ''];
    assert.deepEqual(await read(...changed), { missing: [], changed, refusesPods: true });
    assert.deepEqual((await read(...validating)).missing, mutating);
  });

  it('what the API server writes where a manifest says nothing is no change, and everything else is one', () => {
    const rule = { resources: ['pods'], operations: ['CREATE'] };
    const matchConstraints = { resourceRules: [rule] };
    const policy = { matchConstraints, validations: [{ expression: 'a' }] };
    const binding = { policyName: 'p', validationActions: ['Deny'] };
    const written = { namespaceSelector: {}, objectSelector: {}, resourceRules: [{ scope: '*', ...rule }] };
    const said = saidBy(policy, binding);
    const served = { matchPolicy: 'Equivalent', ...written };
    assert.equal(saidBy({ validations: policy.validations, matchConstraints: served }, binding), said);
    const changes = [
      saidBy({ ...policy, matchConstraints: { matchPolicy: 'Exact', ...written } }, binding),
      saidBy({ ...policy, later: true }, binding),
      saidBy(policy, { ...binding, validationActions: ['Audit'] }),
      saidBy(policy, { ...binding, matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }),
    ];
    assert.equal(new Set([said, ...changes]).size, 5);
  });
});

describe('what is left of an earlier version', () => {
  const read = (lists: Readonly<Record<string, readonly string[]>>): Promise<readonly string[]> =>
    readLeftOvers(<T>(path: string) => {
      const names = Object.entries(lists).find(([end]) => path.endsWith(end))?.[1];
      return Promise.resolve((names && { items: names.map((name) => ({ metadata: { name } })) }) as T | undefined);
    });

  it('what is left is named with its kind, and what this version has is not', async () => {
    const policies = ['controller-config-maps', 'maintenance-words', 'node-maintenance-names', 'requested-by-is-true'];
    const kept = ['controller-pods', 'node-maintenances', 'requested-by'];
    assert.deepEqual(
      await read({
        'nodemaint-system/deployments': ['nodemaint-controller', 'nodemaint-notify'],
        '/poddisruptionbudgets': ['nodemaint-controller', 'nodemaint-controller-own'],
        '/clusterroles': ['nodemaint-controller', 'nodemaint-lifecycle-agent', 'nodemaint-releaser', 'cluster-admin'],
        '/validatingadmissionpolicies': [...policies, ...kept].map((name) => `nodemaint-${name}`),
        // Every object with a label that has no use any more is left, whatever its name is.
        'x-k8s.io%2Fstory': ['story-1'],
      }),
      [
        'deployment/nodemaint-notify',
        'clusterrole/nodemaint-lifecycle-agent',
        ...policies.map((name) => `validatingadmissionpolicy/nodemaint-${name}`),
        'poddisruptionbudget/nodemaint-controller',
        'configmap/story-1',
      ],
    );
  });

  it('nothing is left where no list has anything, or the API server does not have the kind', async () => {
    assert.deepEqual(await read({ '/clusterroles': [] }), []);
  });
});
