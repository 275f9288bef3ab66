import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { inSandbox } from '../../../support/agent/sandbox.ts';
import { runNodemaint } from '../../../support/commands/nodemaint.ts';

describe('nodemaint config', () => {
  it('nodemaint config check says that a configuration is valid, or where it is not', async () => {
    await inSandbox(async (sandbox) => {
      const check = async (extra: Readonly<Record<string, unknown>>) => {
        await sandbox.writeConfig(extra);
        return await runNodemaint(['config', 'check', '--config', sandbox.configFile]);
      };
      assert.deepEqual(await check({}), { code: 0, stdout: `${sandbox.configFile} is valid\n`, stderr: '' });
      for (const [extra, code, message] of [
        [{ containerRuntimeEndpoint: 'unix://unix:///run/x.sock' }, 2, /must be unix:\/\/\/PATH[^]*containerRuntime/],
        [{ staticPodPath: 'manifests' }, 2, /must be an absolute path[^]*staticPodPath/],
        [{ staticPodPath: '/nonexistent/manifests' }, 2, /the staticPodPath \/nonexistent\/manifests does not exist/],
        [{ kubeconfig: '/nonexistent/kubelet.conf' }, 1, /cannot read the kubeconfig \/nonexistent\/kubelet\.conf/],
        [{ maxHoldSecs: 60 }, 2, /maxHoldSecs/],
      ] as const) {
        const ended = await check(extra);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, message);
      }
    });
  });

  it('nodemaint config show has the defaults and the places in use, as a whole and key by key', async () => {
    await inSandbox(async (sandbox) => {
      const show = async (...args: readonly string[]) =>
        await runNodemaint(['config', 'show', ...args, '--config', sandbox.configFile]);
      const all = await show('-o', 'json');
      const config = JSON.parse(all.stdout) as Record<string, unknown>;
      assert.equal(config['onBoot'], 'complete');
      assert.equal(config['staticPodPath'], sandbox.staticPodPath);
      const some = await show('parkedPath', 'apiWaitSec', 'kubeconfig');
      assert.equal(some.stdout, `${path.join(sandbox.root, 'nodemaint-parked')}\n15\n\n`);
      const unknown = await show('toString');
      assert.equal(unknown.code, 2);
      assert.match(unknown.stderr, /no value for "toString"; it has values for .*stateDirectory/);
    });
  });
});
