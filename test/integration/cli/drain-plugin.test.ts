import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { MIRROR_ANNOTATION } from '../../../src/api/names.ts';
import { runCommand, type CommandEnd } from '../../support/commands/command.ts';
import { PROGRAM } from '../../support/commands/program.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('the commands of nodes around a cluster without a controller', () => {
  let rig: EvictionRig;
  const run = (...args: string[]): Promise<CommandEnd> =>
    runCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);

  const makeNode = async (name: string, labels: object = {}): Promise<void> => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(node));
  };
  const names = async (): Promise<string> => await rig.controlPlane.kubectl(['get', 'nm', '-o', 'name']);

  before(async () => {
    rig = await buildEvictionRig();
    await makeNode('node-b');
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('the command works as a plugin of the real kubectl, completion included', async () => {
    const bin = path.join(rig.folder, 'bin');
    await mkdir(bin);
    const plugin = `#!/bin/sh\nexec '${process.execPath}' ${PROGRAM.join(' ')} "$@"\n`;
    await writeFile(path.join(bin, 'kubectl-nodemaint'), plugin, { mode: 0o755 });
    const { stdout: script } = await runCommand(['completion', 'kubectl']);
    await writeFile(path.join(bin, 'kubectl_complete-nodemaint'), script, { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, KUBECONFIG: rig.controlPlane.adminKubeconfig };
    const kubectl = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(rig.controlPlane.binaries.kubectl, args, { env })).stdout;
    assert.match(await kubectl('nodemaint', 'preview', NODE), /^node\/node-z: 0 pods in 0 tiers\n/);
    assert.equal(await kubectl('__complete', 'nodemaint', 'drain', '--reas'), '--reason\n:4\n');
  });

  it('the drain says where no controller is alive, and gives up in time', async () => {
    const { code, stdout, stderr } = await run('cordon', NODE, '--timeout', '1s');
    assert.equal(code, 3);
    assert.equal(stdout, 'nodemaintenance/maintenance-node-z created\n');
    assert.match(stderr, /not cordoned yet: node\/node-z: no controller cordoned them in time/);
    assert.equal(await names(), 'nodemaintenance.nodemaintenance.x-k8s.io/maintenance-node-z\n');
    await rig.controlPlane.kubectl(['delete', 'nm', '--all']);
  });

  it('the last healthy member of the control plane is not drained without --break-quorum', async () => {
    await makeNode('master', { 'node-role.kubernetes.io/control-plane': '' });
    const { code, stdout, stderr } = await run('drain', 'master');
    assert.deepEqual([code, stdout, await names()], [1, '', '']);
    assert.match(
      stderr,
      /draining master takes the last healthy member of the control plane; nothing was done; to drain it all the same, use --break-quorum/,
    );
    assert.match((await run('preview', 'master')).stdout, /blocks: draining master takes the last healthy/);
    const forced = await run('drain', 'master', '--break-quorum', '--dry-run');
    assert.equal(forced.code, 0);
    assert.match(forced.stderr, /warning: draining master takes the last healthy member/);
  });

  it('a drain that leaves static pods alone does not take a control plane that consists of these', async () => {
    const metadata = {
      name: 'etcd-master',
      namespace: 'kube-system',
      labels: { component: 'etcd' },
      annotations: { [MIRROR_ANNOTATION]: 'hash' },
    };
    const spec = { nodeName: 'master', containers: [{ name: 'etcd', image: 'etcd' }] };
    const pod = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    await rig.controlPlane.kubectl(['create', '-f', '-'], pod);
    const kept = await run('drain', 'master', '--keep', 'static', '--dry-run');
    assert.equal(kept.code, 0, kept.stderr);
    assert.doesNotMatch(kept.stdout + kept.stderr, /takes the last healthy/);
    assert.equal((await run('drain', 'master', '--keep', 'daemonsets', '--dry-run')).code, 1);
  });

  it('the command passes on the warnings of the server, and names the missing permission where it is forbidden', async () => {
    const group = 'admissionregistration.k8s.io';
    const rule = { apiGroups: ['nodemaintenance.x-k8s.io'], apiVersions: ['*'], operations: ['CREATE'] };
    const warner = {
      apiVersion: `${group}/v1`,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'warner' },
      spec: {
        matchConstraints: { resourceRules: [{ ...rule, resources: ['nodemaintenances'] }] },
        validations: [{ expression: 'false', message: 'think of the "cats"' }],
      },
    };
    const binding = {
      apiVersion: `${group}/v1`,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'warner' },
      spec: { policyName: 'warner', validationActions: ['Warn'] },
    };
    for (const each of [warner, binding]) {
      await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(each));
    }
    const isWarned = async (): Promise<boolean> =>
      (await run('drain', NODE, '--dry-run')).stderr.includes('think of the "cats"\n');
    await waitFor('the server warns', isWarned, { timeoutMs: 20_000 });
    const kubeconfig = await rig.controlPlane.kubeconfigFor('nobody', []);
    const denied = await runCommand(['drain', NODE, '--kubeconfig', kubeconfig]);
    assert.equal(denied.code, 1);
    assert.match(denied.stderr, /missing permission: the verb get on nodes at the cluster scope/);
  });
});
