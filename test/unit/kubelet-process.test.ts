import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { KubeletFacts } from '../../src/decide/kubelet-config.ts';
import { findKubelet } from '../../src/host/kubelet-config.ts';

const HEAD = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

describe('the kubelet that runs on this machine', () => {
  const { signal } = new AbortController();
  let folder: string;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-kubelet-'));
    await mkdir(path.join(folder, 'conf.d', '20-more'), { recursive: true });
  });
  afterEach(async () => {
    if (child !== undefined) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    child = undefined;
    await rm(folder, { recursive: true });
  });

  const write = async (file: string, content: object | string): Promise<void> => {
    await writeFile(path.join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
  };

  /** A process with the command line of a kubelet, in `folder`. */
  async function startKubelet(...flags: string[]): Promise<KubeletFacts | undefined> {
    const script = 'process.stdout.write("up"); setInterval(() => 0, 1e6)';
    const argv = ['-e', script, '--', `--kubeconfig=${folder}/kubeconfig`, ...flags];
    child = spawn(process.execPath, argv, {
      argv0: '/usr/bin/kubelet',
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (child.stdout !== null) await once(child.stdout, 'data');
    return await findKubelet({ kubeconfig: path.join(folder, 'kubeconfig') }, signal);
  }

  it('has its file, and over it the drop-ins in the order of their names, folders included', async () => {
    await write(
      'kubelet.yaml',
      'apiVersion: v1beta1\nkind: KubeletConfiguration\nstaticPodPath: pods\nhealthzPort: 1\n',
    );
    await write('conf.d/10.conf', { ...HEAD, healthzPort: 2, shutdownGracePeriod: '10s' });
    await write('conf.d/20-more/a.conf', { ...HEAD, healthzPort: 3 });
    await write('conf.d/30.conf', { ...HEAD, shutdownGracePeriod: '30s' });
    await write('conf.d/40.yaml', { ...HEAD, healthzPort: 4 });
    const found = await startKubelet('--config', 'kubelet.yaml', '--config-dir=conf.d');
    assert.partialDeepStrictEqual(found, {
      pid: child?.pid,
      configFile: path.join(folder, 'kubelet.yaml'),
      staticPodPath: path.join(folder, 'pods'),
      healthzPort: 3,
      shutdownGracePeriodMs: 30_000,
    });
  });

  it('may have nothing but flags', async () => {
    const found = await startKubelet('--pod-manifest-path=./pods', '--config-dir=missing');
    assert.equal(found?.staticPodPath, path.join(folder, 'pods'));
  });

  for (const [what, content, reason] of [
    ['is torn', '{"kind": "Kubelet', /kubelet\.yaml: .*correct it/s],
    ['is of another kind', 'kind: Pod', /it is no KubeletConfiguration/],
    ['has a port that is none', { ...HEAD, healthzPort: 99_999 }, /healthzPort/],
    [
      'has more aliases than anybody needs',
      `kind: KubeletConfiguration\na: &a [1,1]\nb: [${'*a,'.repeat(99)}1]`,
      /alias/,
    ],
    ['is too large', 'x'.repeat(2 ** 20 + 1), /larger than 1024 KiB/],
  ] as const) {
    it(`is not guessed at where its file ${what}`, async () => {
      await write('kubelet.yaml', content);
      await assert.rejects(startKubelet('--config=kubelet.yaml'), { code: 'CONFIG_INVALID', message: reason });
    });
  }
});
