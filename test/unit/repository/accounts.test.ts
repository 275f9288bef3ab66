/** Every right of every account is named in docs/reference/security.md, with its reason and with what restricts it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type Facts, faultsOf } from '../../support/accounts/faults.ts';
import { denyingPolicies, grantedRights, manifestNames } from '../../support/accounts/manifests.ts';
import { accountsOn, PAGE } from '../../support/accounts/page.ts';

const TEXT = await readFile(PAGE, 'utf8');
const ACCOUNTS = accountsOn(TEXT);

const FACTS: Facts = { granted: await grantedRights(), policies: await denyingPolicies(), accounts: ACCOUNTS };

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
