import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createRefusalLog } from '../../../../src/agent/parts.ts';
import type { KubeletFacts } from '../../../../src/decide/machine/kubelet-config.ts';
import { createKubeletFinder } from '../../../../src/host/kubelet/finder.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { NEEDS_ROOT } from '../../../support/root.ts';

const HEAD = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

describe('the kubelet that runs on this machine', () => {
  const { signal } = new AbortController();
  let folder: string;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    folder = await makeTestFolder('kubelet');
    await mkdir(path.join(folder, 'conf.d', '20-more'), { recursive: true });
  });
  afterEach(async () => {
    if (child !== undefined) await endFakeKubelet(child);
    child = undefined;
    await rm(folder, { recursive: true });
  });

  const write = async (file: string, content: object | string): Promise<void> => {
    await writeFile(path.join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
  };

  /** A process with the command line of a kubelet, in `folder`. */
  async function startKubelet(...flags: string[]): Promise<KubeletFacts | undefined> {
    child = await startFakeKubelet(folder, [`--kubeconfig=${folder}/kubeconfig`, ...flags]);
    const scope = { kubeconfig: path.join(folder, 'kubeconfig') };
    return await createKubeletFinder({ scope, systemd: undefined, unit: undefined }).config(signal);
  }

  it('the kubelet has its file, and over it the drop-ins in the order of their names, folders included', async () => {
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

  it('the kubelet may have nothing but flags', async () => {
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
    ['is too large', 'x'.repeat(2 ** 17 + 1), /larger than 128 KiB/],
  ] as const) {
    it(`the kubelet is not guessed at where its file ${what}`, async () => {
      await write('kubelet.yaml', content);
      await assert.rejects(startKubelet('--config=kubelet.yaml'), { code: 'CONFIG_INVALID', message: reason });
    });
  }
});

describe('a process that only calls itself a kubelet', { skip: NEEDS_ROOT }, () => {
  const { signal } = new AbortController();

  it('a process that only calls itself a kubelet is not believed, named once with its number, user and reason, and takes nothing from the real one', async (t) => {
    const folder = await makeTestFolder('fake-kubelet');
    await chmod(folder, 0o755);
    t.after(() => rm(folder, { recursive: true }));
    const lines: object[] = [];
    const finder = createKubeletFinder({
      scope: { kubeconfig: '/etc/kubernetes/kubelet.conf', nodeName: 'n' },
      systemd: undefined,
      unit: undefined,
      onRefused: createRefusalLog({ warn: (fields) => lines.push(fields) }),
    });
    const flags = ['--kubeconfig=/etc/kubernetes/kubelet.conf', '--pod-manifest-path=/home/mallory'];
    const start = async (...more: Parameters<typeof startFakeKubelet>): Promise<ChildProcess> => {
      const child = await startFakeKubelet(...more);
      t.after(() => endFakeKubelet(child));
      return child;
    };
    const ofUser = await start(folder, flags, { user: 65_534 });
    const inContainer = await start(folder, flags, { prefix: ['unshare', '--pid', '--fork', '--kill-child', '--'] });
    const renamed = await start(folder, flags, { program: '/bin/sh', argv0: 'kubelet' });
    assert.equal(await finder.config(signal), undefined);
    assert.equal(await finder.config(signal), undefined);
    const said = lines.map((line) => JSON.stringify(line));
    const ours = (pid: number | undefined): string => said.filter((line) => line.includes(`"pid":${pid},`)).join('|');
    assert.match(ours(ofUser.pid), /^\{"pid":\d+,"uid":65534,"reason":"its user ids are 65534[^|]*\}$/);
    assert.match(ours(renamed.pid), /^\{"pid":\d+,"uid":0,"reason":"its executable is called (?:sh|dash|bash)[^|]*\}$/);
    const child = (await readFile(`/proc/${inContainer.pid}/task/${inContainer.pid}/children`, 'utf8')).trim();
    assert.match(ours(Number(child)), /^[^|]*PID namespace of its own[^|]*$/);

    const real = await start(folder, ['--hostname-override=n', '--pod-manifest-path=/etc/kubernetes/manifests']);
    assert.partialDeepStrictEqual(await finder.config(signal), { pid: real.pid });
    const second = await start(folder, ['--hostname-override=n', '--pod-manifest-path=/srv']);
    await assert.rejects(finder.config(signal), {
      code: 'KUBELET_AMBIGUOUS',
      message: new RegExp(`processes ${Math.min(real.pid ?? 0, second.pid ?? 0)} and \\d+ may each be`),
    });
  });
});
