import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { configJsonSchema } from '../../../support/config-json-schema.ts';
import { inSandbox } from '../../../support/agent/sandbox.ts';
import { runNodemaint } from '../../../support/commands/nodemaint.ts';

const HEAD = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
const SCHEMA = path.join(import.meta.dirname, '../../../../docs/reference/configuration.schema.json');

describe('nodemaint config', () => {
  it('nodemaint config check says that a configuration is valid, or where it is not', async () => {
    await inSandbox(async (sandbox) => {
      const check = async (extra: Readonly<Record<string, unknown>>) => {
        await sandbox.writeConfig(extra);
        return await runNodemaint(['config', 'check', '--config', sandbox.configFile]);
      };
      const link = path.join(sandbox.root, 'link');
      await symlink(sandbox.staticPodPath, link);
      assert.deepEqual(await check({}), { code: 0, stdout: `${sandbox.configFile} is valid\n`, stderr: '' });
      for (const [extra, code, message] of [
        [{ containerRuntimeEndpoint: 'unix://unix:///run/x.sock' }, 2, /unix:\/\/\/PATH.*containerRuntimeEndpoint/s],
        [{ staticPodPath: '/nonexistent/manifests' }, 2, /the staticPodPath \/nonexistent\/manifests does not exist/],
        [{ kubeconfig: '/nonexistent/kubelet.conf' }, 1, /cannot read the kubeconfig \/nonexistent\/kubelet\.conf/],
        [{ parkedPath: sandbox.staticPodPath }, 2, /yaml is not .*the directory of the static pods.*parkedPath/s],
        [{ parkedPath: link }, 2, /\/link is the directory of the static pods itself, .*; set the key parkedPath/],
        [{ parkedPath: path.join(link, 'parked') }, 2, /\/link\/parked lies in the directory of the static pods/],
      ] as const) {
        const ended = await check(extra);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, message);
      }
    });
  });

  it('nodemaint config check reads drop-ins, and names the files beside them that are not read', async () => {
    await inSandbox(async (sandbox) => {
      const folder = path.join(sandbox.root, 'config.d');
      await mkdir(folder, { mode: 0o755 });
      const dropIn = path.join(folder, '10-pool.yaml');
      await writeFile(dropIn, `${HEAD}apiWaitSec: 40\n`, { mode: 0o644 });
      await writeFile(path.join(folder, '20-pool.yml'), 'x', { mode: 0o644 });
      const ended = await runNodemaint(['config', 'check', sandbox.configFile]);
      assert.deepEqual(ended, {
        code: 0,
        stdout: `${sandbox.configFile} is valid, with ${dropIn}\n`,
        stderr: `nodemaint: ${folder}/20-pool.yml is not read: the name of a drop-in ends in .yaml and begins with no dot\n`,
      });
    });
  });

  it('nodemaint config show has the values of drop-ins, in a form that config check accepts', async () => {
    await inSandbox(async (sandbox) => {
      const folder = path.join(sandbox.root, 'config.d');
      await mkdir(folder, { mode: 0o755 });
      await writeFile(path.join(folder, '10.yaml'), `${HEAD}apiWaitSec: 40\n`, { mode: 0o644 });
      const shown = await runNodemaint(['config', 'show', '--config', sandbox.configFile]);
      assert.match(shown.stdout, /^apiWaitSec: 40$/m);
      const copy = path.join(sandbox.root, 'copy.yaml');
      await writeFile(copy, shown.stdout, { mode: 0o644 });
      assert.equal((await runNodemaint(['config', 'check', copy])).code, 0);
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

  it('the published JSON Schema of the configuration is that of the program', async () => {
    const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
    if (process.env['NODEMAINT_WRITE_GOLDEN'] === '1') await writeFile(SCHEMA, text);
    assert.equal(text, await readFile(SCHEMA, 'utf8'), 'NODEMAINT_WRITE_GOLDEN=1 writes it');
  });
});
