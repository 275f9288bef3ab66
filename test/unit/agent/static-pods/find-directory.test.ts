import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { startDemoRuntime } from '../../../../src/demo/runtime.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../../support/commands/nodemaint.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { writeAgentFiles } from '../../../support/agent/files.ts';

const NODE = 'place-of-static-pods';
const MANIFEST = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} });

/** A kubelet that takes its static pods from `directory`; `folder` is for its own files. */
async function startKubelet(folder: string, directory: string): Promise<ChildProcess> {
  const flags = [`--hostname-override=${NODE}`, `--pod-manifest-path=${directory}`, '--healthz-port=0'];
  return await startFakeKubelet(folder, flags);
}

describe('the agent of a node whose kubelet is restarted with another static pod directory', () => {
  it('the agent drains the directory that the kubelet has then', async () => {
    await using stack = new AsyncDisposableStack();
    const { signal } = new AbortController();
    const folder = await makeTestFolder('place');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const [first, second] = [path.join(folder, 'first', 'pods'), path.join(folder, 'second', 'pods')];
    for (const directory of [first, second]) {
      await mkdir(directory, { recursive: true });
      await writeFile(path.join(directory, 'web.yaml'), MANIFEST);
    }
    const socketPath = path.join(folder, 'cri.sock');
    stack.use(await startDemoRuntime({ staticPodPath: second, socketPath, nodeName: NODE }, signal));
    const keys = { nodeName: NODE, staticPodPath: undefined, kubeletHealthz: undefined };
    const { configFile, runDirectory } = await writeAgentFiles(folder, keys);
    let kubelet = await startKubelet(folder, first);
    stack.defer(() => endFakeKubelet(kubelet));
    const log = path.join(folder, 'agent.log');
    const agent = stack.use(startNodemaint(['agent', '--config', configFile], log));
    const phase = async (): Promise<string> => (await readAgentStatus(runDirectory)).phase.kind;
    const options = { timeoutMs: 30_000, program: agent };
    await waitFor('the agent watches', async () => (await phase()) === 'watching', { ...options, signal });
    assert.match(await readFile(log, 'utf8'), new RegExp(`"staticPodPath":"${first}"`));

    await endFakeKubelet(kubelet);
    kubelet = await startKubelet(folder, second);
    await runNodemaint(['trigger', '--reason', 'test', '--run-directory', runDirectory]);
    await waitFor('the machine is released', async () => (await phase()) === 'released', { ...options, signal });
    assert.deepEqual(await readdir(first), ['web.yaml']);
    assert.deepEqual(await readdir(second), []);
    assert.deepEqual(await readdir(path.join(folder, 'second', 'nodemaint-parked')), ['web.yaml']);
  });
});
