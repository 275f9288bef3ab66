import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { openLocalNode } from '../../../../src/cli/machine/local-node.ts';
import { inSandbox } from '../../../support/agent/sandbox.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

describe('the local node of a command', () => {
  it('has the directories and the name of the configuration', async () => {
    await inSandbox(async ({ configFile, staticPodPath }) => {
      const node = await openLocalNode(configFile, recordTerminal('pipe').terminal);
      assert.deepEqual([node.nodeName, node.paths.staticPodPath], ['n', staticPodPath]);
    });
  });

  it('names a process that only calls itself a kubelet', async (t) => {
    await inSandbox(async ({ configFile, root }) => {
      const fake = await startFakeKubelet(root, [], { program: '/bin/sh', argv0: 'kubelet' });
      t.after(() => endFakeKubelet(fake));
      const node = await openLocalNode(configFile, recordTerminal('pipe').terminal);
      // Others may run on this machine, too: real ones in containers, and those of other tests.
      assert.ok(node.refusedKubelets().some(({ pid }) => pid === fake.pid));
    });
  });

  it('is opened although the kubeconfig is broken', async () => {
    await inSandbox(async ({ configFile, root, writeConfig }) => {
      const kubeconfig = path.join(root, 'kubeconfig');
      await writeFile(kubeconfig, '}{');
      await writeConfig({ kubeconfig });
      assert.equal((await openLocalNode(configFile, recordTerminal('pipe').terminal)).nodeName, 'n');
    });
  });

  it('writes warnings to standard error, without control characters', async () => {
    await inSandbox(async ({ configFile }) => {
      const recorded = recordTerminal('pipe');
      const { log } = await openLocalNode(configFile, recorded.terminal);
      log.info({}, 'nothing for a person');
      log.warn({ reason: 'EVIL\u001B[2J\nforged' }, 'cannot read a manifest');
      assert.equal(recorded.errors(), 'nodemaint: cannot read a manifest: EVIL [2J forged\n');
      assert.equal(recorded.output(), '');
    });
  });

  it('is refused with an invalid configuration', async () => {
    await inSandbox(async ({ configFile, writeConfig }) => {
      await writeConfig({ staticPodPaht: '/x' });
      await assert.rejects(openLocalNode(configFile, recordTerminal('pipe').terminal), { code: 'CONFIG_INVALID' });
    });
  });
});
