import assert from 'node:assert/strict';
import { access, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadAgentConfig } from '../../../../src/config/load.ts';
import { kubeletShutdownWarning } from '../../../../src/decide/machine/kubelet-graceful-shutdown.ts';
import { createKubeletFinder } from '../../../../src/host/kubelet/finder.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { runNodemaint } from '../../../support/commands/nodemaint.ts';

const HEAD = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
const GROUPS = [
  { priority: 0, shutdownGracePeriodSeconds: 60 },
  { priority: 1000, shutdownGracePeriodSeconds: 30 },
];

interface Bench {
  readonly folder: string;
  readonly config: string;
  run(...flags: string[]): ReturnType<typeof runNodemaint>;
  endKubelet(): Promise<void>;
  /** What the agent would say of the kubelet now. */
  warning(): Promise<string>;
}

/** A process with the command line of a kubelet, and an agent's configuration that goes with it. */
async function createBench(t: TestContext, flags: readonly string[]): Promise<Bench> {
  const folder = await makeTestFolder('kubelet-shutdown');
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(
    path.join(folder, 'kubelet.yaml'),
    JSON.stringify({ ...HEAD, staticPodPath: `${folder}/manifests`, shutdownGracePeriodByPodPriority: GROUPS }),
  );
  const child = await startFakeKubelet(folder, [`--kubeconfig=${kubeconfig}`, '--config=kubelet.yaml', ...flags]);
  const config = path.join(folder, 'config.yaml');
  await writeFile(
    config,
    `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\nkubeconfig: ${kubeconfig}\nstaticPodPath: ${folder}/manifests\nstateDirectory: ${folder}/state\n`,
  );
  const endKubelet = (): Promise<void> => endFakeKubelet(child);
  t.after(async () => {
    await endKubelet();
    await rm(folder, { recursive: true });
  });
  return {
    folder,
    config,
    endKubelet,
    run: (...more) => runNodemaint(['disable-kubelet-shutdown', '--config', config, ...more]),
    warning: async () => {
      const finder = createKubeletFinder({ scope: { kubeconfig }, systemd: undefined, unit: undefined });
      const kubelet = await finder.config(t.signal);
      return kubelet === undefined ? 'no kubelet' : (kubeletShutdownWarning(kubelet) ?? '');
    },
  };
}

describe('nodemaint disable-kubelet-shutdown', () => {
  it('the command writes a drop-in, takes the order over into the drain plan once, and can be undone', async (t) => {
    const bench = await createBench(t, ['--config-dir=conf.d']);
    assert.match(await bench.warning(), /is on \(90 s\)/);
    const first = await bench.run();
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, /is now the drainPlan.*\nWrote .*zz-nodemaint\.conf/);
    assert.equal(await bench.warning(), '');
    const { drainPlan } = await loadAgentConfig(bench.config);
    assert.deepEqual(
      drainPlan,
      ['Default', 'DaemonSet', 'Static'].map((podType) => ({ podType, podPriority: 999 })),
    );
    assert.match((await bench.run()).stdout, /is off/);
    await bench.run('--undo');
    assert.match(await bench.warning(), /is on/);
    assert.match((await bench.run()).stdout, /already has a drainPlan/);
  });

  it('the command is undone without a kubelet from what was written down, once, and never takes what is not its own', async (t) => {
    const bench = await createBench(t, ['--config-dir=conf.d']);
    await bench.run();
    await writeFile(path.join(bench.folder, 'conf.d', '10-mine.conf'), JSON.stringify(HEAD));
    await bench.endKubelet();
    const undone = await bench.run('--undo');
    assert.equal(undone.code, 0, undone.stderr);
    assert.match(undone.stdout, /^Removed .*conf\.d\/zz-nodemaint\.conf\. It takes effect when the kubelet restarts/);
    assert.deepEqual(await readdir(path.join(bench.folder, 'conf.d')), ['10-mine.conf']);
    const again = await bench.run('--undo');
    assert.equal(again.code, 2);
    assert.match(again.stderr, /no kubelet of this node is running, and no drop-in of nodemaint is recorded/);

    await writeFile(path.join(bench.folder, 'state', 'kubelet-drop-in'), `${bench.folder}/conf.d/10-mine.conf\n`);
    assert.equal((await bench.run('--undo')).code, 2);
    assert.deepEqual(await readdir(path.join(bench.folder, 'conf.d')), ['10-mine.conf']);
  });

  it('the command says what to do by hand where the kubelet has no folder of drop-ins, and changes nothing', async (t) => {
    const bench = await createBench(t, []);
    const before = await readFile(bench.config, 'utf8');
    const { code, stderr } = await bench.run();
    assert.equal(code, 1);
    assert.match(stderr, /no --config-dir; in .*kubelet\.yaml set shutdownGracePeriod/);
    assert.equal(await readFile(bench.config, 'utf8'), before);
    await assert.rejects(access(path.join(bench.folder, 'zz-nodemaint.conf')));
  });
});
