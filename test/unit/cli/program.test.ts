import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inSandbox } from '../../support/agent/sandbox.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';

describe('the command line with bad input', () => {
  it('a command line that makes no sense is answered with the usage and exit code 2', async () => {
    for (const args of [['nonsense'], ['status', '-o', 'xml'], ['trigger'], ['trigger', '--reason', ' ']]) {
      const { code, stderr } = await runNodemaint(args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, /error: /);
    }
  });

  it('a controller that is no pod and has no kubeconfig says what it needs', async () => {
    const { code, stderr } = await runNodemaint(['controller']);
    assert.equal(code, 1);
    assert.match(stderr, /no pod with a service account; name a kubeconfig with --kubeconfig/);
  });

  it('a status without an agent says so', async () => {
    await inSandbox(async ({ runDirectory }) => {
      const { code, stderr } = await runNodemaint(['status', '--run-directory', runDirectory]);
      assert.equal(code, 1);
      assert.match(stderr, /no agent answers at .*control\.sock/);
    });
  });
});
