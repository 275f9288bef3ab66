/** A cluster whose administrator has left out the account as which agents release gated pods. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import type { Check } from '../../../src/show/checks/node-checks.ts';
import type { Program } from '../../control-plane/process.ts';
import { withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { objectsOf } from '../../helm/objects.ts';
import { daemonSet } from '../../node/pods.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { buildEvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { eventually, SLOW, waitFor } from '../../support/wait-for.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const ACCOUNT = 'nodemaint-agent-release';
const SAID = 'gated DaemonSet pods of own node wait for a controller';

const skip = withoutMutatingPolicies('no pod is gated');

describe('a cluster without the account that releases gated pods', { skip }, () => {
  it('an agent drains its node alone, and after the boot gives back all but the gate, which it names and a controller takes away', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await buildEvictionRig());
    const { kubectl } = rig.controlPlane;

    const overlay = path.join(rig.folder, 'manifests');
    await promisify(execFile)('cp', ['-rL', MANIFESTS, overlay]);
    await appendFile(path.join(overlay, 'kustomization.yaml'), 'components: [rbac/without-agent-release]\n');
    const kept = objectsOf(await kubectl(['kustomize', overlay]));
    const gone = [...objectsOf(await kubectl(['kustomize', MANIFESTS])).keys()].filter((key) => !kept.has(key));
    assert.equal(gone.length, 5, gone.join());
    assert.ok(
      gone.every((key) => key.endsWith(`/${ACCOUNT}`)),
      gone.join(),
    );
    // As docs/reference/security.md has it for a cluster in which the account was installed.
    await kubectl(['delete', 'clusterrolebinding,clusterrole', ACCOUNT]);
    await kubectl(['-n', 'nodemaint-system', 'delete', 'rolebinding,role,serviceaccount', ACCOUNT]);

    const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const folder = path.join(rig.folder, 'agent');
    await mkdir(path.join(folder, 'manifests'), { recursive: true });
    const files = await writeAgentFiles(folder, { kubeconfig, nodeName: NODE, onBoot: 'complete' });
    const log = path.join(rig.folder, 'agent.log');
    const startAgent = (): Program => stack.use(startNodemaint(['agent', '--config', files.configFile], log));
    const phase = async (): Promise<string> => (await readAgentStatus(files.runDirectory)).phase.kind;
    const loggers = async (): Promise<readonly Pod[]> =>
      (JSON.parse(await kubectl(['get', 'pods', '-l', 'app=logger', '-o', 'json'])) as { items: readonly Pod[] }).items;

    await rig.createPod('web');
    await kubectl(['create', '-f', '-'], JSON.stringify(daemonSet('logger')));
    const first = startAgent();
    await waitFor('the agent watches', async () => (await phase()) === 'watching', { ...SLOW, program: first });
    const own = ['--run-directory', files.runDirectory];
    assert.equal((await runNodemaint(['trigger', '--reason', 'a test', ...own])).code, 0);
    const leaves = async (): Promise<boolean> => (await rig.getPod('web'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the agent evicts the pod', leaves, { ...SLOW, program: first });
    await rig.endPod('web');
    await waitFor('the machine is let go', async () => (await phase()) === 'released', { ...SLOW, program: first });
    await waitFor(
      'the gate holds the pod of the DaemonSet',
      async () => {
        const all = await loggers();
        // One that was made before the drain.
        if (all.some((pod) => !isGated(pod)))
          await kubectl(['delete', 'pods', '-l', 'app=logger', '--force', '--grace-period=0']);
        return all.length === 1 && all.every(isGated);
      },
      SLOW,
    );

    await first.stop();
    await writeFile(files.bootIdPath, 'boot-2');
    const second = startAgent();
    const said = async (): Promise<number> => (await readFile(log, 'utf8')).split(SAID).length - 1;
    await waitFor('the agent says what it may not do', async () => (await said()) > 0, { ...SLOW, program: second });
    await eventually(async () => {
      assert.equal(await kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']), '', 'uncordoned');
      assert.equal(await kubectl(['get', 'nm', '-o', 'jsonpath={.items[*].spec.stage}']), 'Complete');
    });
    assert.ok((await loggers()).every(isGated));

    const checked = await runNodemaint(['check', '-o', 'json', '--kubeconfig', rig.controlPlane.adminKubeconfig]);
    const named = (text: string, name: string): Check | undefined =>
      (JSON.parse(text) as { items: Check[] }).items.find((each) => each.name === name);
    const rights = named(checked.stdout, 'rights');
    assert.equal(rights?.result, 'ok', rights?.message);
    assert.match(rights.message, /nodemaint-agent-release is left out: gated DaemonSet pods wait for a controller/);
    const examined = await runNodemaint(['doctor', '-o', 'json', '--config', files.configFile]);
    const server = named(examined.stdout, 'API server');
    assert.equal(server?.result, 'ok', server?.message);
    assert.match(server.message, /may not act as nodemaint-agent-release here, so gated DaemonSet pods .* wait/);

    await rig.startController();
    await waitFor(
      'the controller takes the gate away',
      async () => (await loggers()).some((pod) => !isGated(pod)),
      SLOW,
    );
    assert.equal(await said(), 1, 'said once');
  });
});
