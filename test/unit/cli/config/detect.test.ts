import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { detect } from '../../../../src/cli/config/detect.ts';
import { inSandbox } from '../../../support/agent/sandbox.ts';

describe('nodemaint config detect', () => {
  it('nodemaint config detect prefers what the running kubelet has, and knows an endpoint without a scheme', async () => {
    const none = { kubeconfigs: [], sockets: [] };
    assert.deepEqual(await detect({ kubeconfig: '/k', containerRuntimeEndpoint: 'unix:///run/k3s.sock' }, none), {
      kubeconfig: '/k',
      containerRuntimeEndpoint: 'unix:///run/k3s.sock',
    });
    const bare = { kubeconfig: undefined, containerRuntimeEndpoint: '/run/crio.sock' };
    assert.deepEqual(await detect(bare, none), { containerRuntimeEndpoint: 'unix:///run/crio.sock' });
    const remote = { kubeconfig: undefined, containerRuntimeEndpoint: 'tcp://127.0.0.1:1' };
    assert.deepEqual(await detect(remote, none), {});
  });

  it('nodemaint config detect takes the first usual file and the first usual socket that exist while no kubelet runs', async () => {
    await inSandbox(async ({ root }) => {
      const at = (name: string): string => path.join(root, name);
      await mkdir(at('folder'));
      await writeFile(at('kubeconfig'), '');
      const server = createServer().listen(at('socket'));
      const usual = {
        kubeconfigs: [at('none'), at('folder'), at('kubeconfig')],
        sockets: [at('none'), at('kubeconfig'), at('socket')],
      };
      assert.deepEqual(await detect(undefined, usual), {
        kubeconfig: at('kubeconfig'),
        containerRuntimeEndpoint: `unix://${at('socket')}`,
      });
      server.close();
    });
  });
});
