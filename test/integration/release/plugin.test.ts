/** The plugin of kubectl, as a laptop gets it: unpacked by a user without privileges, and run by the real kubectl. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { pluginArchives } from '../../../.ci/plugin.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { makeTestFolder } from '../../support/folder.ts';

const run = promisify(execFile);
/** Somebody without any right on this machine. */
const NOBODY = { uid: 65_534, gid: 65_534 } as const;
const CRDS = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'crds');
const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-z' } };

describe('the plugin of kubectl', () => {
  const signal = AbortSignal.timeout(300_000);
  const stack = new AsyncDisposableStack();
  let folder: string;
  let controlPlane: ControlPlane;
  let kubeconfig: string;

  const kubectl = async (bin: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> => {
    const env = { HOME: folder, PATH: bin, KUBECONFIG: kubeconfig };
    return await run(path.join(folder, 'kubectl'), ['nodemaint', ...args], { env, signal, cwd: '/', ...NOBODY });
  };

  before(async () => {
    folder = await makeTestFolder('plugin');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    controlPlane = stack.use(await startControlPlane({}, signal));
    await controlPlane.kubectl(['create', '-f', CRDS]);
    await controlPlane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=300s']);
    await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(NODE));
    kubeconfig = path.join(folder, 'kubeconfig');
    await writeFile(kubeconfig, await controlPlane.kubectl(['config', 'view', '--raw', '--flatten']));
    // The folder of what tests have built may be open for root only.
    await copyFile(controlPlane.binaries.kubectl, path.join(folder, 'kubectl'));
    for (const file of [folder, kubeconfig]) await chmod(file, 0o755);
  });
  after(async () => {
    await stack.disposeAsync();
  });

  it('the plugin runs by a link in the PATH, with a Node.js of its own, without an agent and without root', async () => {
    const archives = await pluginArchives();
    const own = archives.find(({ architecture }) => architecture === (process.arch === 'x64' ? 'amd64' : process.arch));
    assert.ok(own);
    const [home, bin] = [path.join(folder, 'home'), path.join(folder, 'bin')];
    for (const place of [home, bin]) await mkdir(place);
    await writeFile(path.join(folder, own.name), own.data);
    await run('tar', ['-xzf', path.join(folder, own.name), '-C', home, '--no-same-owner']);
    await symlink(path.join('..', 'home', 'kubectl-nodemaint'), path.join(bin, 'kubectl-nodemaint'));
    for (const program of ['dirname', 'readlink']) await symlink(`/usr/bin/${program}`, path.join(bin, program));
    assert.match((await kubectl(bin, 'preview', 'node-z')).stdout, /^node\/node-z: 0 pods in 0 tiers\n/);
    await kubectl(bin, 'status');
  });
});
