/** The policies are in force before the rights that they restrict, and go after them: looked up in what etcd has written. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { type Change, changesSince, currentRevision } from '../../control-plane/history.ts';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { runCommand } from '../../support/commands/command.ts';
import { makeTestFolder } from '../../support/folder.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const CHART = path.join(MANIFESTS, 'chart');
const HELM_FLAGS = ['--namespace', 'kube-system', '--set', ['controller.replicas=0', 'crds.keep=false'].join(',')];
/** Roles too: some are aggregated into those of users as soon as they are there, and new rules are in force at once. */
const RIGHTS = /^\/registry\/(?:cluster)?role(?:binding)?s\/.*nodemaint-/;
const POLICIES = /^\/registry\/(?:validat|mutat)ingadmissionpolic\w+\/nodemaint-/;
/** It restricts nobody's rights: it holds pods back, and goes first, so that none is held for ever. */
const GATE = 'nodemaint-daemonset-gate';

/** Some changes of a kind; throws where there are fewer than expected, as then nothing would be compared. */
function revisionsOf(
  changes: readonly Change[],
  what: Change['what'],
  { keys, atLeast }: { readonly keys: RegExp; readonly atLeast: number },
): readonly number[] {
  const found = changes.filter((change) => change.what === what && keys.test(change.key) && !change.key.endsWith(GATE));
  assert.ok(found.length >= atLeast, `${found.length} ${what}, expected ${atLeast} of ${keys.source}`);
  return found.map(({ revision }) => revision);
}

/** Fails where a right was created before the last of the policies and their bindings. */
function assertPoliciesFirst(changes: readonly Change[], atLeast: { policies: number; rights: number }): void {
  const policies = revisionsOf(changes, 'created', { keys: POLICIES, atLeast: atLeast.policies });
  const rights = revisionsOf(changes, 'created', { keys: RIGHTS, atLeast: atLeast.rights });
  assert.ok(Math.max(...policies) < Math.min(...rights), changes.map(({ key }) => key).join('\n'));
}

/** Fails where one of the policies or their bindings was deleted before the last binding of a role. */
function assertRightsGoFirst(changes: readonly Change[], atLeast: { policies: number; rights: number }): void {
  const bindings = /^\/registry\/(?:cluster)?rolebindings\/.*nodemaint-/;
  const policies = revisionsOf(changes, 'deleted', { keys: POLICIES, atLeast: atLeast.policies });
  const rights = revisionsOf(changes, 'deleted', { keys: bindings, atLeast: atLeast.rights });
  assert.ok(Math.max(...rights) < Math.min(...policies), changes.map(({ what, key }) => `${what} ${key}`).join('\n'));
}

describe('the order of an installation', () => {
  const signal = AbortSignal.timeout(400_000);
  const stack = new AsyncDisposableStack();
  let folder: string;
  let controlPlane: ControlPlane;
  let helm: Helm;
  before(async () => {
    folder = await makeTestFolder('order');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    controlPlane = stack.use(await startControlPlane({}, signal));
    helm = await createHelm({ folder, kubeconfig: controlPlane.adminKubeconfig }, signal);
  });
  after(async () => {
    await stack.disposeAsync();
  });
  const during = async (act: () => Promise<unknown>): Promise<readonly Change[]> => {
    const start = await currentRevision(controlPlane.etcdUrl, signal);
    await act();
    return await changesSince(controlPlane.etcdUrl, start, signal);
  };
  const apply = async (name: string): Promise<readonly Change[]> =>
    await during(() => controlPlane.kubectl(['apply', '-k', path.join(MANIFESTS, name)]));
  const uninstallCluster = async (): Promise<void> => {
    const flags = ['--yes', '--kubeconfig', controlPlane.adminKubeconfig];
    const { code, stderr } = await runCommand(['uninstall-cluster', ...flags]);
    assert.equal(code, 0, stderr);
  };

  it('the order of an installation with kustomize is the policies and then the rights', async () => {
    assertPoliciesFirst(await apply('.'), { policies: 24, rights: 18 });
  });

  it('the order of an uninstallation of what kustomize has installed is the rights and then the policies', async () => {
    const changes = await during(async () => {
      await uninstallCluster();
      await controlPlane.kubectl(['delete', '-k', MANIFESTS, '--ignore-not-found', '--wait=false']);
    });
    assertRightsGoFirst(changes, { policies: 24, rights: 7 });
    await controlPlane.kubectl(['wait', '--for=delete', 'namespace/nodemaint-system', '--timeout=300s']);
  });

  it('the order of an installation with Helm is the policies and then the rights', async () => {
    const changes = await during(() => helm(['install', 'nodemaint', CHART, ...HELM_FLAGS]));
    assertPoliciesFirst(changes, { policies: 24, rights: 18 });
  });

  it('the order of an uninstallation of what Helm has installed is the rights and then the policies', async () => {
    const changes = await during(async () => {
      await uninstallCluster();
      await helm(['uninstall', 'nodemaint', '--namespace', 'kube-system', '--wait']);
    });
    assertRightsGoFirst(changes, { policies: 24, rights: 7 });
  });

  it('the order of an upgrade with Helm has no policy and no right deleted, also from a chart without the List', async () => {
    const older = path.join(folder, 'older');
    await promisify(execFile)('cp', ['-rL', CHART, older]);
    const template = path.join(older, 'templates', 'objects.yaml');
    const text = await readFile(template, 'utf8');
    const plain = text
      .replace(/^.*append \$(?:policies|rights).*\n/gm, '{{- "" }}\n')
      .replace(/^# The policies are in force[^]*?^---\n/m, '');
    assert.ok(!plain.includes('kind: List') && plain.length < text.length - 300, plain);
    await writeFile(template, plain);
    const created = await during(() => helm(['install', 'nodemaint', older, ...HELM_FLAGS]));
    assert.throws(() => assertPoliciesFirst(created, { policies: 24, rights: 18 }), /clusterrolebindings/);
    const changes = await during(() => helm(['upgrade', 'nodemaint', CHART, ...HELM_FLAGS]));
    const found = changes.filter(({ key }) => RIGHTS.test(key) || POLICIES.test(key));
    assert.deepEqual(found, []);
  });
});
