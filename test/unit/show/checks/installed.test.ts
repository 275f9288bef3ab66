import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Bound,
  type RightsFacts,
  rightsFacts,
  ROLES,
  withBinding,
} from '../../../../src/show/checks/installed.ts';

describe('the rights that a check of the cluster finds', () => {
  const pathsOf = (...parts: readonly string[]): readonly string[] =>
    ROLES.filter(({ part }) => parts.includes(part)).flatMap(({ roles }) => roles.flatMap(withBinding));

  const factsOf = (paths: readonly string[], ...subjects: Required<Bound>['subjects']): RightsFacts =>
    rightsFacts(new Map(paths.map((path) => [path, { subjects }])));

  it('a binding for an account of another namespace is named: the policies restrict none but those of their own', () => {
    const account = (namespace: string) => ({ kind: 'ServiceAccount', namespace });
    const [path = ''] = pathsOf('core');
    assert.deepEqual(factsOf([path], { kind: 'Group' }, account('nodemaint-system')).elsewhere, []);
    assert.deepEqual(factsOf([path], account('nodemaint-system'), account('other')).elsewhere, [path]);
  });

  it('what may be left out is off where nothing of it is there, and incomplete where a part is there', () => {
    const all = pathsOf('core', 'webhook', 'release');
    assert.deepEqual(factsOf(all), { missing: [], elsewhere: [], isReleaseOff: false });
    assert.deepEqual(factsOf(pathsOf('core')), { missing: [], elsewhere: [], isReleaseOff: true });
    // Who may act as the account has its rights, also where the account itself is not there.
    const [role = ''] = pathsOf('release');
    const partly = factsOf(all.filter((path) => path !== role));
    assert.deepEqual(partly, { missing: [role], elsewhere: [], isReleaseOff: false });
    const without = factsOf(pathsOf('webhook', 'release'));
    assert.deepEqual(without, { missing: pathsOf('core'), elsewhere: [], isReleaseOff: false });
  });
});
