import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  NEEDED_RIGHTS,
  type NeededRight,
  rightsFacts,
  WEBHOOK_RIGHTS,
  policyWarnings,
} from '../../../../src/show/checks/installed.ts';
import { atomText, type GivenRole, givenRoles } from '../../../support/accounts/manifests.ts';

describe('the rights that a check of the cluster looks for', () => {
  it('the rights that are looked for are given by the manifests, and there is one of each role of the core', async () => {
    const subjects = new Map<NeededRight['who'], string>([
      ['agents', 'system:nodes'],
      ['controller', 'system:serviceaccount:nodemaint-system:nodemaint-controller'],
      ['release', 'system:serviceaccount:nodemaint-system:nodemaint-agent-release'],
    ]);
    const needed = [...NEEDED_RIGHTS, ...WEBHOOK_RIGHTS].map(({ who, resource, subresource, ...right }) => {
      const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
      return `${subjects.get(who)}: ${atomText({ ...right, resource: whole })}`;
    });
    const roles = (await givenRoles()).filter(({ subject }) => [...subjects.values()].includes(subject));
    const textsOf = ({ subject, atoms }: GivenRole): readonly string[] =>
      atoms.map((atom) => `${subject}: ${atomText(atom)}`);
    const given = roles.flatMap(textsOf);
    const found = needed.filter((text) => !given.includes(text));
    assert.deepEqual(found, []);
    const unseen = roles.filter((role) => !textsOf(role).some((text) => needed.includes(text)));
    const shown = unseen.map(({ role, subject }) => `${role} of ${subject}`);
    assert.deepEqual(shown, []);
  });

  it('the release account is off where nothing of it is there and agents may not act as it, and incomplete where a part is there', () => {
    const ofRelease = NEEDED_RIGHTS.filter(({ who, verb }) => who === 'release' || verb === 'impersonate');
    const [impersonate, deletion] = ofRelease;
    const [other] = NEEDED_RIGHTS;
    assert.ok(impersonate && deletion && other);
    const none = [false, false];
    assert.deepEqual(rightsFacts([], [true, true]), { missing: [], release: 'on' });
    assert.deepEqual(rightsFacts([...ofRelease, other], none), { missing: [other], release: 'off' });
    // Whoever gives all accounts the right to delete pods has not switched this one on.
    assert.deepEqual(rightsFacts([impersonate], none), { missing: [], release: 'off' });
    // To act as an account does not need the account: without its object, its rights are as dangerous as before.
    assert.deepEqual(rightsFacts([], [false, true]), { missing: [], release: 'partly' });
    assert.deepEqual(rightsFacts([deletion], none), { missing: [deletion], release: 'partly' });
    assert.deepEqual(rightsFacts([impersonate], [true, true]), { missing: [impersonate], release: 'partly' });
  });
});

/** As kube-apiserver 1.33.13 writes it. */
const EARLY =
  "/v1, Kind=Pod: ERROR: <input>:1:6: undeclared reference to 'params' (in container '')\n | !has(params.spec.stage)\n | .....^\n";
const WRONG = "/v1, Kind=Pod: ERROR: <input>:1:8: undefined field 'spce'\n | object.spce\n | ......^\n";

describe('the warnings of a policy', () => {
  const named = { name: 'held', hasParams: true };

  it('leave out a check that came before the kind of the parameters was known', () => {
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY] }), []);
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY, WRONG] }), [`held: ${WRONG}`]);
  });

  it('keep what is wrong', () => {
    assert.deepEqual(policyWarnings({ ...named, hasParams: false, warnings: [EARLY] }), [`held: ${EARLY}`]);
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY + WRONG] }), [
      `held: ${(EARLY + WRONG).slice(0, 200)}`,
    ]);
    assert.deepEqual(policyWarnings({ ...named, warnings: ['anything else'] }), ['held: anything else']);
  });
});
