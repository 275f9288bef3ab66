import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { collect } from '../../../../src/cli/bundle/bundle.ts';
import { kubeletParts } from '../../../../src/cli/bundle/kubelet.ts';
import { nodeParts } from '../../../../src/cli/bundle/sources.ts';
import { agentConfigSchema } from '../../../../src/config/schema.ts';
import { PLANTED } from '../../../support/commands/planted-secrets.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';

const KIND = { apiVersion: 'agent.nodemaintenance.x-k8s.io/v1alpha1', kind: 'AgentConfiguration' };
const CONFIG = agentConfigSchema.parse(KIND);

/** The text of a part, as it is in the bundle. */
async function textOf(name: string, config: Parameters<typeof kubeletParts>[0]): Promise<string> {
  const wanted = kubeletParts(config).filter((part) => part.name === name);
  const [file] = await collect(wanted, AbortSignal.timeout(60_000));
  return file?.text ?? '';
}

/** A folder with a program in the place of journalctl, which writes its arguments and what is planted. */
async function withJournal(t: TestContext): Promise<void> {
  const folder = await temporaryFolder(t, 'journal');
  const program = path.join(folder, 'journalctl');
  const msg = PLANTED.map(([text]) => text).join('\n');
  const lines = `2026-01-01T00:00:00Z vm kubelet[1]: ${JSON.stringify({ level: 'warn', msg })}`;
  await writeFile(path.join(folder, 'lines'), lines);
  await writeFile(program, `#!/bin/sh\necho "$@"\ncat ${folder}/lines\n`);
  await chmod(program, 0o755);
  const before = process.env['PATH'];
  process.env['PATH'] = `${folder}:${before}`;
  t.after(() => {
    process.env['PATH'] = before;
  });
}

describe('the kubelet and the runtime in a bundle', () => {
  it('the configuration has the command line, the file and the drop-ins, also a broken one, and no secret', async (t: TestContext) => {
    const folder = await temporaryFolder(t, 'kubelet');
    await mkdir(path.join(folder, 'conf.d'));
    const planted = PLANTED.map(([text]) => text.replaceAll('\n', '\n# ')).join('\n# ');
    const main =
      'kind: KubeletConfiguration\nshutdownGracePeriod: 30s\nstaticPodURLHeader:\n  Authorization: [hush-hush]\n';
    await writeFile(path.join(folder, 'kubelet.yaml'), `${main}# ${planted}\n`);
    await writeFile(path.join(folder, 'conf.d', '10.conf'), 'kind: [broken\n');
    const kubeconfig = path.join(folder, 'kubeconfig');
    await writeFile(kubeconfig, 'users: [{user: {token: of-the-kubeconfig}}]\n');
    const flags = [
      '--config',
      'kubelet.yaml',
      '--config-dir=conf.d',
      '--node-ip',
      '10.0.0.1',
      '--password',
      'hunter-two',
    ];
    const kubelet = await startFakeKubelet(folder, [`--kubeconfig=${kubeconfig}`, ...flags]);
    t.after(() => endFakeKubelet(kubelet));
    const config = { ...CONFIG, kubeconfig, lock: 'none' as const };
    const text = await textOf('kubelet-config.yaml', config);
    assert.match(text, /^#   --node-ip=10\.0\.0\.1$/m);
    assert.match(
      text,
      /^# .*kubelet\.yaml$[^]*^shutdownGracePeriod: 30s$[^]*^# .*conf\.d\/10\.conf$\n^kind: \[broken$/m,
    );
    for (const secret of ['hush-hush', 'hunter-two', 'of-the-kubeconfig', ...PLANTED.map(([, each]) => each)])
      assert.ok(!text.includes(secret), `${secret}: ${text}`);
  });

  it('without a kubelet the part says so', async (t: TestContext) => {
    const kubeconfig = path.join(await temporaryFolder(t, 'none'), 'kubeconfig');
    const config = { ...CONFIG, kubeconfig, lock: 'none' as const, kubeletUnit: 'none.service' };
    assert.match(await textOf('kubelet-config.yaml', config), /^\[not read: no kubelet runs here/);
  });

  it('the journal of an hour is asked for, of the units in which a kubelet and a runtime run, and has no secret', async (t: TestContext) => {
    await withJournal(t);
    const kubelet = await textOf('kubelet-log.txt', undefined);
    for (const unit of ['kubelet.service', 'k3s.service', 'rke2-agent.service', 'snap.kubelet*.service'])
      assert.ok(kubelet.includes(`-u ${unit} `), kubelet);
    assert.match(kubelet, /--since -1h -n 10000 /);
    for (const [, secret] of PLANTED) assert.ok(!kubelet.includes(secret), secret);
    const own = await textOf('kubelet-log.txt', { ...CONFIG, kubeletUnit: 'my-kubelet.service' });
    assert.match(own, /^-u my-kubelet\.service --since -1h/);
    assert.match(await textOf('runtime-log.txt', undefined), /-u containerd\.service -u crio\.service /);
  });

  it('the bundle of a node has them last, so that they take no room of what the agent says', () => {
    const names = nodeParts('/nowhere', undefined).map(({ name }) => name);
    assert.deepEqual(names.slice(-3), ['kubelet-config.yaml', 'kubelet-log.txt', 'runtime-log.txt']);
  });
});
