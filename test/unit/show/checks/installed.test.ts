import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { INSTALLED_ADDONS } from '../../../../src/addons/installed.ts';
import { NEEDED_RIGHTS, type NeededRight, WEBHOOK_RIGHTS } from '../../../../src/show/checks/installed.ts';
import { atomText, type GivenRole, givenRoles } from '../../../support/accounts/manifests.ts';

describe('the rights that a check of the cluster looks for', () => {
  it('the rights that are looked for are given by the manifests, and there is one of each role of the core', async () => {
    const subjects = new Map<NeededRight['who'], string>([
      ['agents', 'system:nodes'],
      ['controller', 'system:serviceaccount:nodemaint-system:nodemaint-controller'],
      ['release', 'system:serviceaccount:nodemaint-system:nodemaint-agent-release'],
    ]);
    const ofAddons = INSTALLED_ADDONS.flatMap(({ roleBindings }) => roleBindings);
    const needed = [...NEEDED_RIGHTS, ...WEBHOOK_RIGHTS].map(({ who, resource, subresource, ...right }) => {
      const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
      return `${subjects.get(who)}: ${atomText({ ...right, resource: whole })}`;
    });
    const roles = (await givenRoles()).filter(
      ({ role, subject }) => [...subjects.values()].includes(subject) && !ofAddons.includes(role),
    );
    const textsOf = ({ subject, atoms }: GivenRole): readonly string[] =>
      atoms.map((atom) => `${subject}: ${atomText(atom)}`);
    const given = roles.flatMap(textsOf);
    assert.deepEqual(
      needed.filter((text) => !given.includes(text)),
      [],
    );
    const unseen = roles.filter((role) => !textsOf(role).some((text) => needed.includes(text)));
    assert.deepEqual(
      unseen.map(({ role, subject }) => `${role} of ${subject}`),
      [],
    );
  });
});
