/** The plugin of kubectl, as a laptop gets it: unpacked by a user without privileges, and run by the real kubectl. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { krewManifest, type PluginArchive, pluginArchives } from '../../../.ci/plugin.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { krewBinary } from '../../krew/krew.ts';
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

  /** Makes the archives for a system, and unpacks the first one as a user would. */
  const unpack = async (os: 'linux' | 'darwin'): Promise<readonly PluginArchive[]> => {
    const archives = await pluginArchives(os);
    const [first] = archives;
    assert.ok(first);
    const home = path.join(folder, os);
    await mkdir(home);
    for (const { name, data } of archives) await writeFile(path.join(folder, name), data);
    await run('tar', ['-xzf', path.join(folder, first.name), '-C', home, '--no-same-owner']);
    return archives;
  };
  /** A folder for the PATH with the plugin, as krew links it, and with the two programs that its script needs. */
  const makeBin = async (name: string): Promise<string> => {
    const bin = path.join(folder, name);
    await mkdir(bin);
    await symlink(path.join('..', 'darwin', 'kubectl-nodemaint'), path.join(bin, 'kubectl-nodemaint'));
    for (const program of ['dirname', 'readlink']) await symlink(`/usr/bin/${program}`, path.join(bin, program));
    return bin;
  };
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

  it('the plugin runs on a machine with Node.js, without an agent and without root', async () => {
    await unpack('darwin');
    const bin = await makeBin('bin');
    await assert.rejects(kubectl(bin, 'status'), /there is no Node\.js in the PATH; install Node\.js 22 or later/);
    await copyFile(process.execPath, path.join(bin, 'node'));
    assert.match((await kubectl(bin, 'preview', 'node-z')).stdout, /^node\/node-z: 0 pods in 0 tiers\n/);
    await kubectl(bin, 'status');
  });

  it('the plugin says that a Node.js is too old', async () => {
    const bin = await makeBin('old');
    await writeFile(path.join(bin, 'node'), '#!/bin/sh\necho v20.19.2\n', { mode: 0o755 });
    await assert.rejects(kubectl(bin, 'status'), /old\/node is Node\.js v20\.19\.2; it needs 22 or later/);
  });

  it('the plugin is installed by krew from its manifest, with a Node.js of its own', async () => {
    const krew = path.join(folder, 'kubectl-krew');
    await copyFile(await krewBinary(signal), krew);
    const archives = await unpack('linux');
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const archive = archives.find(({ platforms }) => platforms.some((each) => each.arch === arch));
    const manifest = path.join(folder, 'krew-nodemaint.yaml');
    await writeFile(manifest, krewManifest(archives));
    const root = path.join(folder, 'krew');
    await mkdir(root);
    await chmod(root, 0o777);
    const env = { HOME: root, KREW_ROOT: root, KREW_NO_UPGRADE_CHECK: '1', PATH: '/usr/bin:/bin' };
    const args = ['install', `--manifest=${manifest}`, `--archive=${path.join(folder, archive?.name ?? '')}`];
    await chmod(manifest, 0o644);
    const { stderr } = await run(krew, args, { env, signal, cwd: '/', ...NOBODY });
    assert.match(stderr, /Installed plugin: nodemaint/);
    const installed = `${path.join(root, 'bin')}:/usr/bin:/bin`;
    assert.match((await kubectl(installed, 'preview', 'node-z')).stdout, /^node\/node-z: 0 pods in 0 tiers\n/);
    await kubectl(installed, 'status');
  });
});
