import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLeftOvers, readPolicies } from '../../../../src/cli/check/facts.ts';
import { MUTATING_POLICIES, VALIDATING_POLICIES } from '../../../../src/show/checks/installed.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

/** A cluster with these objects, by their paths; collections of policies are empty unless they are given. */
function clusterOf(objects: Readonly<Record<string, readonly string[]>>): <T>(path: string) => Promise<T | undefined> {
  return <T>(path: string) => {
    const found = objects[path.replace(`${REGISTRATION}/`, '')];
    const items = (found ?? []).map((name) => ({ metadata: { name } }));
    return Promise.resolve((found === undefined ? undefined : { items }) as T | undefined);
  };
}

describe('what is read of the policies of a cluster', () => {
  const all = {
    validatingadmissionpolicies: VALIDATING_POLICIES,
    validatingadmissionpolicybindings: VALIDATING_POLICIES,
    mutatingadmissionpolicies: MUTATING_POLICIES,
    mutatingadmissionpolicybindings: MUTATING_POLICIES,
  };
  it('those that are not there are named, and before Kubernetes 1.36 a validating one stands in for those that mutate', async () => {
    const read = async (objects: Readonly<Record<string, readonly string[]>>): Promise<unknown> =>
      await readPolicies(clusterOf(objects));
    const whole = { missing: [], refusesPods: false };
    assert.deepEqual(await read(all), whole);
    const unbound = { ...all, validatingadmissionpolicybindings: VALIDATING_POLICIES.slice(1) };
    const missing = [`the binding of ${VALIDATING_POLICIES[0]}`];
    assert.deepEqual(await read(unbound), { ...whole, missing }, 'a policy without its binding does nothing');
    const { mutatingadmissionpolicies: _, mutatingadmissionpolicybindings: __, ...older } = all;
    const gated = [...VALIDATING_POLICIES, MUTATING_POLICIES[0]];
    assert.deepEqual(
      await read({ ...older, validatingadmissionpolicies: gated, validatingadmissionpolicybindings: gated }),
      { ...whole, refusesPods: true },
    );
    assert.deepEqual(await read(older), { ...whole, missing: [...MUTATING_POLICIES] });
  });
});

describe('what is left of an earlier version', () => {
  const read = (lists: Readonly<Record<string, readonly string[]>>): Promise<readonly string[]> =>
    readLeftOvers(<T>(path: string) => {
      const names = Object.entries(lists).find(([end]) => path.endsWith(end))?.[1];
      return Promise.resolve(
        names === undefined ? undefined : ({ items: names.map((name) => ({ metadata: { name } })) } as T),
      );
    });

  it('what is left is named with its kind, and what this version has is not', async () => {
    assert.deepEqual(
      await read({
        'nodemaint-system/deployments': ['nodemaint-controller', 'nodemaint-notify', 'nodemaint-surge'],
        '/poddisruptionbudgets': ['nodemaint-controller', 'nodemaint-controller-own'],
        '/clusterroles': ['nodemaint-controller', 'nodemaint-lifecycle-agent', 'nodemaint-releaser', 'cluster-admin'],
        '/validatingadmissionpolicies': [
          'nodemaint-controller-config-maps',
          'nodemaint-controller-pods',
          'nodemaint-maintenance-words',
          'nodemaint-node-maintenance-names',
          'nodemaint-node-maintenance-nodes',
          'nodemaint-node-maintenances',
          'nodemaint-release',
          'nodemaint-requested-by',
          'nodemaint-requested-by-is-true',
        ],
      }),
      [
        'deployment/nodemaint-notify',
        'deployment/nodemaint-surge',
        'clusterrole/nodemaint-lifecycle-agent',
        'validatingadmissionpolicy/nodemaint-controller-config-maps',
        'validatingadmissionpolicy/nodemaint-maintenance-words',
        'validatingadmissionpolicy/nodemaint-node-maintenance-names',
        'validatingadmissionpolicy/nodemaint-node-maintenance-nodes',
        'validatingadmissionpolicy/nodemaint-release',
        'validatingadmissionpolicy/nodemaint-requested-by-is-true',
        'poddisruptionbudget/nodemaint-controller',
      ],
    );
  });

  it('every object with a label that has no use any more is left, whatever its name is', async () => {
    assert.deepEqual(await read({ 'x-k8s.io%2Fstory': ['story-1'] }), ['configmap/story-1']);
  });

  it('nothing is left where no list has anything, or the API server does not have the kind', async () => {
    assert.deepEqual(await read({ '/clusterroles': [] }), []);
  });
});
