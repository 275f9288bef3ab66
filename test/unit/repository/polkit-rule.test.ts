import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';

const FILE = path.join(import.meta.dirname, '../../../systemd/polkit-1/rules.d/10-nodemaint.rules');
const DELAY = 'org.freedesktop.login1.inhibit-delay-shutdown';

type Rule = (action: { readonly id: string }, subject: { readonly user: string }) => unknown;

describe('the rule for polkit', () => {
  it('the rule leaves locks that delay a shutdown to root, and says nothing of anything else', async () => {
    const rules: Rule[] = [];
    const polkit = { Result: { NO: 'no', NOT_HANDLED: null }, addRule: (rule: Rule) => rules.push(rule) };
    runInNewContext(await readFile(FILE, 'utf8'), { polkit });
    const [rule] = rules;
    assert.equal(rules.length, 1);
    assert.equal(rule?.({ id: DELAY }, { user: 'nobody' }), 'no');
    assert.equal(rule?.({ id: DELAY }, { user: 'root' }), null);
    assert.equal(rule?.({ id: 'org.freedesktop.login1.inhibit-delay-sleep' }, { user: 'nobody' }), null);
  });
});
