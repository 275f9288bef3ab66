import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { installUnit } from '../../../../src/decide/machine/install-unit.ts';

describe('the unit of an installation', () => {
  it('the unit has each argument as one word that systemd does not expand', () => {
    const text = installUnit('/work/kit/install.sh', ['install', '--kubeconfig', '/a b/$HOME "%i"\\x'], '/work/log');
    const line = /^ExecStart=.*$/m.exec(text)?.[0];
    assert.equal(
      line,
      String.raw`ExecStart=/bin/sh "/work/kit/install.sh" "install" "--kubeconfig" "/a b/$$HOME \"%%i\"\\x"`,
    );
    assert.match(text, /^StandardOutput=file:\/work\/log$/m);
  });

  it('the unit takes no argument that would begin another line', () => {
    assert.throws(() => installUnit('/install.sh', ['a\nExecStart=/bin/false'], '/log'), { code: 'USAGE' });
  });
});
