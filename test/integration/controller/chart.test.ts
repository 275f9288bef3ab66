/** The Helm chart: the same objects as those of kustomize, and its life on a real API server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { chartArchive } from '../../../.ci/payload.ts';
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { policyKinds } from '../../control-plane/releases.ts';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { objectsOf, withoutChartLabels } from '../../helm/objects.ts';
import { runCommand } from '../../support/commands/command.ts';
import { startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const CHART = path.join(MANIFESTS, 'chart');
const HOME = 'nodemaint-system';
const OLD_SERVER = ['--kube-version', '1.35.0'];
const NEW_SERVER = ['--kube-version', '1.36.0'];
const NODE = 'node-z';
/** No pod of the chart runs: there is no kubelet. */
const SETTINGS = 'controller.replicas=0,installer.enabled=true,installer.nodeSelector.example=none';
const KINDS =
  'clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,services,deployments,networkpolicies';
const CLUSTER_KINDS = `${policyKinds()},validatingwebhookconfigurations`;

describe('the Helm chart', () => {
  const signal = AbortSignal.timeout(240_000);
  const stack = new AsyncDisposableStack();
  let folder: string;
  let controlPlane: ControlPlane;
  let helm: Helm;
  before(async () => {
    folder = await makeTestFolder('chart');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    controlPlane = stack.use(await startControlPlane({}, signal));
    helm = await createHelm({ folder, kubeconfig: controlPlane.adminKubeconfig }, signal);
  });
  after(async () => {
    await stack.disposeAsync();
  });
  const kubectl = (...args: readonly string[]): Promise<string> => controlPlane.kubectl(args);
  const render = (...args: readonly string[]): Promise<string> => helm(['template', 'nodemaint', CHART, ...args]);

  it('the Helm chart passes helm lint, has the version of the program, and describes each of its values in its schema', async () => {
    await helm(['lint', '--strict', CHART]);
    const chart = parse(await readFile(path.join(CHART, 'Chart.yaml'), 'utf8')) as Record<string, string>;
    const packageFile = await readFile(path.join(MANIFESTS, '..', 'package.json'), 'utf8');
    const { version } = JSON.parse(packageFile) as { version: string };
    assert.deepEqual([chart['version'], chart['appVersion']], [version, version]);
    for (const bad of ['replicas=2', 'controller.replicas=many', 'image.digest=abc', 'image.pullPolicy=Sometimes']) {
      await assert.rejects(render('--set', bad), /values don't meet the specifications of the schema/);
    }
  });

  it('the Helm chart has the objects of kustomize, and before Kubernetes 1.36 those of the component for it', async () => {
    const overlay = path.join(folder, 'older');
    await promisify(execFile)('cp', ['-rL', MANIFESTS, overlay]);
    const current = objectsOf(await kubectl('kustomize', MANIFESTS));
    const kustomization = path.join(overlay, 'kustomization.yaml');
    const base = parse(await readFile(kustomization, 'utf8')) as object;
    await writeFile(kustomization, JSON.stringify({ ...base, components: ['policies/before-1.36'] }));
    const older = objectsOf(await kubectl('kustomize', overlay));
    // A release of another namespace makes the controller's namespace itself, with its labels.
    const flags = ['--namespace', 'kube-system', '--set', 'crds.keep=false', '--skip-tests'];
    const rendered = async (...more: readonly string[]) =>
      withoutChartLabels(objectsOf(await render(...flags, ...more)));
    assert.deepEqual(await rendered(...NEW_SERVER), current);
    assert.deepEqual(await rendered(...OLD_SERVER), older);
    const { name: file, data } = await chartArchive();
    const archive = path.join(folder, file);
    await writeFile(archive, data);
    assert.equal(await helm(['template', 'nodemaint', archive, ...flags]), await render(...flags));
    const components = ['installer', 'webhook/cert-manager'];
    await writeFile(kustomization, JSON.stringify({ ...base, components }));
    const installing = objectsOf(await kubectl('kustomize', overlay));
    const withComponents = 'installer.enabled=true,webhook.certificate=cert-manager';
    const installed = await rendered(...NEW_SERVER, '--set', withComponents);
    // Without this hash of the configuration, which only the chart makes, the pods would not notice another one.
    const annotations = /"annotations":\{"nodemaintenance\.x-k8s\.io\/config":"[0-9a-f]{64}"\},/;
    const plain = [...installed].map(([name, object]): [string, unknown] => [
      name,
      JSON.parse(JSON.stringify(object).replace(annotations, '')),
    ]);
    assert.deepEqual(new Map(plain), installing);
    const kinds = ['podMonitor', 'rules', 'dashboard'].map((kind) => `monitoring.${kind}.enabled=true`);
    const kustomized = async (name: string) => objectsOf(await kubectl('kustomize', path.join(MANIFESTS, name)));
    const withValue = async (value: string) => await rendered(...NEW_SERVER, '--set', value);
    assert.deepEqual(await withValue(kinds.join(',')), new Map([...current, ...(await kustomized('monitoring'))]));
    for (const [value, folder] of [['monitoring.scrapeConfig', 'monitoring/agents']] as const) {
      const expected = new Map([...current, ...(await kustomized(folder))]);
      assert.deepEqual(await withValue(`${value}.enabled=true`), expected, folder);
    }
  });

  it('the Helm chart gives the agents a drop-in, and its pods are replaced when that changes', async () => {
    const install = async (config: string): Promise<{ dropIn: string; pods: string }> => {
      const flags = ['--set', 'installer.enabled=true', '--set-json', `installer.config=${config}`];
      const objects = objectsOf(await render(...flags, ...NEW_SERVER));
      const name = 'nodemaint-installer/nodemaint-installer';
      const data = objects.get(`ConfigMap ${name}`)?.['data'] as Record<string, string>;
      const spec = objects.get(`DaemonSet ${name}`)?.['spec'] as { template: { metadata: object } };
      return { dropIn: data['config.yaml'] ?? '', pods: JSON.stringify(spec.template.metadata) };
    };
    const none = await install('{}');
    const one = await install('{"maxHoldSec":3600,"cloud":{"provider":"aws"}}');
    assert.equal(none.dropIn, '');
    assert.deepEqual(parse(one.dropIn), {
      apiVersion: CONFIG_API_VERSION,
      kind: 'AgentConfiguration',
      maxHoldSec: 3600,
      cloud: { provider: 'aws' },
    });
    assert.notEqual(one.pods, none.pods);
  });

  it('the Helm chart puts its values into the Deployment, and leaves out what the values switch off', async () => {
    const values = path.join(folder, 'values.yaml');
    await writeFile(
      values,
      JSON.stringify({
        image: { repository: 'registry.example.com:5000/nodemaint', digest: `sha256:${'0'.repeat(64)}` },
        imagePullSecrets: [{ name: 'registry' }],
        controller: {
          replicas: 3,
          extraArgs: ['--max-parallel-nodes=2'],
          extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' }],
          resources: { limits: { memory: '2Gi' } },
          priorityClassName: 'own',
          tolerations: [{ operator: 'Exists' }],
          requireControlPlaneNodes: true,
        },
        webhook: { enabled: false },
        networkPolicy: { enabled: false },
        crds: { install: false },
        installer: { enabled: true, action: 'uninstall', extraArgs: ['--purge'], maxUnavailable: '10%' },
      }),
    );
    const objects = objectsOf(await render('--namespace', HOME, '--values', values, ...NEW_SERVER));
    const kinds = new Set([...objects.keys()].map((key) => key.split(' ')[0]));
    assert.equal(objects.has(`Namespace /${HOME}`), false);
    const gone = ['NetworkPolicy', 'CustomResourceDefinition', 'ValidatingWebhookConfiguration'];
    for (const kind of gone) assert.equal(kinds.has(kind), false, kind);
    assert.equal(objects.has(`ResourceQuota ${HOME}/nodemaint-critical-pods`), false);
    const text = JSON.stringify(objects.get(`Deployment ${HOME}/nodemaint-controller`));
    assert.match(text, /"image":"registry\.example\.com:5000\/nodemaint@sha256:0{64}"/);
    assert.match(text, /"args":\["controller","--metrics-address=:8080","--max-parallel-nodes=2"\]/);
    assert.match(text, /"resources":\{"limits":\{"memory":"2Gi"\},"requests":\{"cpu":"50m","memory":"128Mi"\}\}/);
    assert.match(text, /"priorityClassName":"own"[^]*"tolerations":\[\{"operator":"Exists"\}\]/);
    assert.match(text, /"nodeAffinity":\{"requiredDuringSchedulingIgnoredDuringExecution"/);
    assert.match(text, /"env":\[\{"name":"POD_NAME",[^]*"name":"HTTPS_PROXY"/);
    assert.match(text, /"replicas":3/);
    const installer = JSON.stringify(objects.get('DaemonSet nodemaint-installer/nodemaint-installer'));
    assert.match(installer, /"args":\["install-node","--","uninstall","--when-idle","--purge"\]/);
    assert.match(installer, /"maxUnavailable":"10%"/);
    assert.equal(installer.match(/"image":"registry\.example\.com:5000\/nodemaint@sha256:0{64}"/g)?.length, 2);
  });

  it('the Helm chart installs on a real API server, is upgraded in the middle of a drain with its custom resources, and uninstalls', async () => {
    const flags = ['--namespace', HOME, '--create-namespace', '--set', SETTINGS];
    await helm(['install', 'nodemaint', CHART, ...flags]);
    const user = `system:serviceaccount:${HOME}:nodemaint-controller`;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${HOME}`, 'system:authenticated'];
    const kubeconfig = await controlPlane.kubeconfigFor(user, groups);
    await using controller = startNodemaint(['controller', '--kubeconfig', kubeconfig], path.join(folder, 'log'));
    const until = (what: string, ask: () => Promise<boolean>): Promise<void> =>
      waitFor(what, ask, { timeoutMs: 60_000, program: controller, signal });

    const create = (object: object): Promise<string> =>
      controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(object));
    await create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
    const spec = { nodeName: NODE, containers: [{ name: 'main', image: 'none.invalid/none' }] };
    await create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' }, spec });
    const asAdmin = `--kubeconfig=${controlPlane.adminKubeconfig}`;
    const drain = ['drain', NODE, '--no-wait', '--delete-unmanaged', asAdmin];
    await until('a drain begins', async () => (await runCommand(drain)).code === 0);
    const leaves = async (): Promise<boolean> =>
      (await kubectl('get', 'pod', 'web', '-o', 'jsonpath={.metadata.deletionTimestamp}')) !== '';
    await until('the pod leaves', leaves);
    const maintenance = async (): Promise<NodeMaintenance | undefined> =>
      (JSON.parse(await kubectl('get', 'nm', '-o', 'json')) as { items: NodeMaintenance[] }).items[0];
    const begun = await maintenance();

    const webhook = 'validatingwebhookconfiguration/nodemaint-webhook';
    const authority = '[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"LS0tLS1CRUdJTg=="}]';
    await kubectl('patch', webhook, '--type=json', '-p', authority);
    const next = path.join(folder, 'next');
    await promisify(execFile)('cp', ['-rL', CHART, next]);
    const crd = path.join(next, 'objects', 'crds', 'nodemaintenance.yaml');
    const columns = await readFile(crd, 'utf8');
    await writeFile(crd, columns.replace('shortNames: [nm]', 'shortNames: [nm, nodemaintnext]'));
    await helm(['upgrade', 'nodemaint', next, ...flags, '--set', 'image.tag=next']);
    const image = 'jsonpath={.spec.template.spec.containers[0].image}';
    const shown = await kubectl('get', 'deploy', '-n', HOME, 'nodemaint-controller', '-o', image);
    assert.equal(shown, 'localhost/nodemaint:next');
    await until('the new short name is served', async () => (await kubectl('api-resources')).includes('nodemaintnext'));
    const bundle = 'jsonpath={.webhooks[0].clientConfig.caBundle}';
    assert.equal(await kubectl('get', webhook, '-o', bundle), 'LS0tLS1CRUdJTg==', "the controller's certificate stays");
    assert.equal((await maintenance())?.metadata.uid, begun?.metadata.uid);
    await kubectl('delete', 'pod', 'web', '--force', '--grace-period=0');
    const isDrained = async (): Promise<boolean> =>
      (await maintenance())?.status?.conditions?.some(({ type, status }) => type === 'Drained' && status === 'True') ===
      true;
    await until('the node is drained', isDrained);

    const { code, stderr } = await runCommand(['uninstall-cluster', '--yes', asAdmin]);
    assert.equal(code, 0, stderr);
    await helm(['uninstall', 'nodemaint', '--namespace', HOME, '--wait']);
    const left = await kubectl('get', `${KINDS},${CLUSTER_KINDS}`, '-A', '-o', 'name');
    const found = left.split('\n').filter((name) => name.includes('nodemaint'));
    assert.deepEqual(found, []);
    const text = await kubectl('get', 'crd', '-o', 'name');
    assert.match(text, /nodemaintenances\.nodemaintenance/, 'crds.keep leaves them');
    await helm(['install', 'nodemaint', CHART, ...flags]);
  });

  it('what "helm test" runs may read all that "nodemaint check" looks at, and its Job is one that API servers take', async () => {
    const printed = await render('--namespace', HOME, '--show-only', 'templates/tests/check.yaml', ...NEW_SERVER);
    await controlPlane.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], printed);
    const [job, ...others] = [...objectsOf(printed).values()].toReversed();
    assert.equal(job?.kind, 'Job');
    assert.match(JSON.stringify(job), /"args":\["check","--wait","--timeout=5m"\]/);
    await kubectl('apply', '-f', path.join(MANIFESTS, 'crds'));
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: others }));
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${HOME}`, 'system:authenticated'];
    const account = await controlPlane.kubeconfigFor(`system:serviceaccount:${HOME}:nodemaint-test`, groups);
    const check = async (kubeconfig: string): Promise<string> =>
      (await runCommand(['check', '-o', 'json', '--kubeconfig', kubeconfig])).stdout;
    const found = await check(account);
    assert.match(found, /"kind": "CheckList"/);
    assert.equal(found, await check(controlPlane.adminKubeconfig));
  });
});
