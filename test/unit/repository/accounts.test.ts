/** Every right of every account is named in docs/reference/security.md, with its reason and with what restricts it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type Facts, faultsOf } from '../../support/accounts/faults.ts';
import { type Atom, denyingPolicies, grantedRights, manifestNames } from '../../support/accounts/manifests.ts';
import { accountsOn, PAGE } from '../../support/accounts/page.ts';

const CONTROLLER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
const TEXT = await readFile(PAGE, 'utf8');
const ACCOUNTS = accountsOn(TEXT);

const FACTS: Facts = { granted: await grantedRights(), policies: await denyingPolicies(), accounts: ACCOUNTS };

/** The facts with the rights of the controller changed. */
function withController(change: (atoms: readonly Atom[]) => readonly Atom[]): Facts {
  const granted = new Map(FACTS.granted);
  granted.set(CONTROLLER, change(granted.get(CONTROLLER) ?? []));
  return { ...FACTS, granted };
}

describe('the comparison of what is said of accounts with the manifests', () => {
  const deletes: Atom = { group: '', resource: 'configmaps', verb: 'delete' };

  it('a verb that is added to a role needs a reason', () => {
    assert.deepEqual(faultsOf(withController((atoms) => [...atoms, deletes])), [
      `${CONTROLLER}: delete configmaps is given without a reason`,
    ]);
  });

  it('a verb that is taken from a role, or loses the name of its object, is named', () => {
    assert.deepEqual(
      faultsOf(withController((atoms) => atoms.filter(({ resource }) => resource !== 'poddisruptionbudgets'))),
      ['list', 'watch'].map((verb) => `${CONTROLLER}: ${verb} poddisruptionbudgets.policy is said and not given`),
    );
    const [subject] = ACCOUNTS.map((each) => each.subject);
    const granted = new Map(FACTS.granted);
    const nameless = (granted.get(subject ?? '') ?? []).map((atom) => ({ ...atom, name: undefined }));
    const faults = faultsOf({ ...FACTS, granted: granted.set(subject ?? '', nameless) });
    assert.ok(
      faults.includes('system:nodes: impersonate serviceaccounts in nodemaint-system is given without a reason'),
    );
  });

  it('an account that no page names is named with all that it may do', () => {
    const granted = new Map([...FACTS.granted, ['mallory', [deletes]]]);
    assert.deepEqual(faultsOf({ ...FACTS, granted }), ['mallory: delete configmaps is given without a reason']);
  });

  it('a policy that is renamed, added, or sees another resource or account is named', () => {
    const name = 'nodemaint-controller-pods';
    const policy = FACTS.policies.get(name);
    assert.ok(policy !== undefined);
    const others = [...FACTS.policies].filter(([each]) => each !== name);
    const faults = (...changed: readonly (typeof policy)[]): readonly string[] =>
      faultsOf({ ...FACTS, policies: new Map([...others, ...changed.map((each) => [each.name, each] as const)]) });
    const seen = [
      ['patch pods', 'UPDATE of pods'],
      ['delete pods', 'DELETE of pods'],
      ['create pods/eviction', 'CREATE of pods/eviction'],
    ] as const;
    assert.deepEqual(faults({ ...policy, name: 'renamed' }), [
      ...seen.flatMap(([right, operation]) => [
        `${CONTROLLER}: ${right}: no policy ${name} refuses anything`,
        `${CONTROLLER}: ${right}: none of its policies sees ${operation}`,
      ]),
      'policy renamed refuses something, and no right names it',
    ]);
    assert.deepEqual(faults(policy, { ...policy, name: 'new' }), [
      'policy new refuses something, and no right names it',
    ]);
    const rules = policy.rules.map((rule) => ({ ...rule, operations: ['CREATE'] }));
    assert.deepEqual(
      faults({ ...policy, rules }),
      seen
        .slice(0, 2)
        .flatMap(([right, operation]) => [
          `${CONTROLLER}: ${right}: ${name} does not see it`,
          `${CONTROLLER}: ${right}: none of its policies sees ${operation}`,
        ]),
    );
    const found = faults({ ...policy, subject: 'mallory' });
    assert.deepEqual(
      found,
      seen.map(([right]) => `${CONTROLLER}: ${right}: ${name} is for another account`),
    );
  });
});

describe('the accounts of the product', () => {
  it('each verb of each role has a reason, and what restricts it is a policy of the manifests that sees it, or RBAC alone', () => {
    assert.ok(FACTS.granted.size > 5);
    assert.ok(FACTS.policies.size > 5);
    assert.deepEqual(faultsOf(FACTS), []);
  });

  it('the page has a section for each account, with as many rows as it has rights', () => {
    const rights = ACCOUNTS.flatMap((account) => account.rights.map(({ text }) => text));
    assert.ok(ACCOUNTS.length > 5 && rights.length > 50);
    assert.deepEqual([...FACTS.granted.keys()].toSorted(), ACCOUNTS.map(({ subject }) => subject).toSorted());
  });

  it('the page names no object of the product that the manifests do not have', async () => {
    const names = await manifestNames();
    const named = TEXT.matchAll(/`(nodemaint-[a-z0-9-]+)(?=[`:])/g);
    const found = [...new Set([...named].map(([, name = '']) => name))];
    assert.ok(found.length > 20);
    const shown = found.filter((name) => !names.has(name));
    assert.deepEqual(shown, []);
  });
});
