import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLeftOvers } from '../../../../src/cli/check/facts.ts';

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
