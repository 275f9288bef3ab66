import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rightsFacts, ROLES, withBinding } from '../../../../src/show/checks/installed.ts';

describe('the rights that a check of the cluster finds', () => {
  const pathsOf = (...parts: readonly string[]): readonly string[] =>
    ROLES.filter(({ part }) => parts.includes(part)).flatMap(({ roles }) => roles.flatMap(withBinding));

  it('what may be left out is off where nothing of it is there, and incomplete where a part is there', () => {
    const all = pathsOf('core', 'webhook', 'release');
    assert.deepEqual(rightsFacts(new Set(all)), { missing: [], isReleaseOff: false });
    assert.deepEqual(rightsFacts(new Set(pathsOf('core'))), { missing: [], isReleaseOff: true });
    // Who may act as the account has its rights, also where the account itself is not there.
    const [role = ''] = pathsOf('release');
    const partly = rightsFacts(new Set(all.filter((path) => path !== role)));
    assert.deepEqual(partly, { missing: [role], isReleaseOff: false });
    const without = rightsFacts(new Set(pathsOf('webhook', 'release')));
    assert.deepEqual(without, { missing: pathsOf('core'), isReleaseOff: false });
  });
});
