/** Files of values of the Helm chart: what each changes, and whether a real API server takes the objects. */
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { foreignCrds } from '../../helm/crds/crds.ts';
import { chartReadme, README } from '../../helm/docs/helm-docs.ts';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { CHART_LABELS, objectsOf, type PrintedObject } from '../../helm/objects.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { VALUE_CASES } from '../../helm/values/cases.ts';

const CHART = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'chart');
const VALUES = path.join(import.meta.dirname, '..', '..', 'helm', 'values');
const NAMESPACES = ['nodemaint-system', 'nodemaint-installer'];

describe('the values of the Helm chart', () => {
  const signal = AbortSignal.timeout(300_000);
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let helm: Helm;
  let folder: string;
  let minimal: ReadonlyMap<string, PrintedObject>;
  const render = async (...args: readonly string[]): Promise<string> =>
    await helm(['template', 'nodemaint', CHART, '--namespace', 'kube-system', '--kube-version', '1.36.0', ...args]);
  const renderFile = async (file: string): Promise<ReadonlyMap<string, PrintedObject>> =>
    objectsOf(await render('--values', path.join(VALUES, file)));
  const assertTaken = async (items: readonly object[]): Promise<void> => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await controlPlane.kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], list);
  };
  before(async () => {
    folder = await makeTestFolder('chart-values');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    controlPlane = stack.use(await startControlPlane({}, signal));
    helm = await createHelm({ folder }, signal);
    for (const file of await foreignCrds(signal)) await controlPlane.kubectl(['create', '-f', file]);
    await controlPlane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=300s']);
    for (const namespace of NAMESPACES) await controlPlane.kubectl(['create', 'namespace', namespace]);
    minimal = await renderFile('minimal.yaml');
  });
  after(async () => {
    await stack.disposeAsync();
  });

  it('every object has the standard labels, and the objects of a misspelled field are not taken', async () => {
    assert.ok(minimal.size > 40);
    for (const [key, { metadata }] of minimal) {
      for (const label of [...CHART_LABELS, 'app.kubernetes.io/part-of']) {
        assert.ok(metadata.labels?.[label], `${key}: ${label}`);
      }
    }
    await assertTaken([...minimal.values()]);
    const deployment = JSON.stringify(minimal.get('Deployment nodemaint-system/nodemaint-controller'));
    const misspelled = JSON.parse(deployment.replace('"topologyKey"', '"topologyKeys"')) as object;
    await assert.rejects(assertTaken([misspelled]), /topologyKeys/);
  });

  for (const { file, changes } of VALUE_CASES) {
    it(`the chart with ${file} passes helm lint, changes what it is to change, and a real API server takes its objects`, async () => {
      await helm(['lint', '--strict', CHART, '--kube-version', '1.36.0', '--values', path.join(VALUES, file)]);
      const objects = await renderFile(file);
      const changed = [...objects].filter(
        ([key, object]) => JSON.stringify(object) !== JSON.stringify(minimal.get(key)),
      );
      const gone = [...minimal.keys()].filter((key) => !objects.has(key));
      assert.notEqual(changed.length + gone.length, 0);
      for (const [key, expected] of Object.entries(changes)) {
        const object = objects.get(key);
        if (expected === undefined) assert.equal(object, undefined, key);
        else assert.match(JSON.stringify(object), expected, key);
      }
      await assertTaken(changed.map(([, object]) => object));
    });
  }

  it('labels and annotations for all objects are on each of them, and labels on their pods too', async () => {
    for (const [key, { metadata }] of await renderFile('registry.yaml')) {
      assert.equal(metadata.labels?.['cost-center'], '4711', key);
      assert.equal(metadata.annotations?.['example.com/owner'], 'platform', key);
    }
  });

  it('the printed objects say for which version they are made', async () => {
    assert.match(await render(), /^# Made for Kubernetes v1\.36\.0\. "helm template" knows/m);
    const older = await render('--kube-version', '1.35.0');
    assert.match(older, /^# Made for Kubernetes v1\.35\.0, with the DaemonSet gate for servers before 1\.36\./m);
  });

  it('the notes say what monitoring needs beside the chart', async () => {
    const values = ['--values', path.join(VALUES, 'monitoring.yaml')];
    const notes = await helm([
      'install',
      'nodemaint',
      CHART,
      '--dry-run=client',
      '--namespace',
      'kube-system',
      ...values,
    ]);
    assert.match(notes, /kubectl label namespace NAMESPACE-OF-PROMETHEUS nodemaintenance\.x-k8s\.io\/scrapes=true/);
    assert.match(notes, /metricsAddress: ":9999"/);
    assert.match(notes, /The objects are made for Kubernetes v[\d.]+\./);
  });

  it('values that cannot work together are refused with what to do', async () => {
    for (const [values, message] of [
      ['controller.replicas=null', /missing property 'replicas'/],
      ['controller.hostNetwork=true', /controller\.hostNetwork needs the value privileged of namespace\.labels/],
      ['webhook.certificate=secret', /webhook\.certificate=secret needs webhook\.caBundle/],
      ['monitoring.rules.enabled=true,monitoring.rules.for.Nodemaint=1m', /there is no alert Nodemaint/],
      [
        'monitoring.rules.enabled=true,monitoring.rules.thresholds.NodemaintControllerNotScraped=1',
        /the alert NodemaintControllerNotScraped has no threshold/,
      ],
    ] as const) {
      await assert.rejects(render('--set', values), message);
    }
  });

  it('the README of the chart is the one that helm-docs makes of values.yaml, and describes each value', async () => {
    const made = await chartReadme(signal);
    assert.equal(await readFile(README, 'utf8'), made, 'run test/helm/docs/write-readme.ts');
    const rows = made.split('\n').filter((line) => /^\| [a-z]\w*(?:\.\w+)* \|/i.test(line));
    assert.ok(rows.length > 60, String(rows.length));
    const found = rows.filter((row) => /\|\s*\|$/.test(row));
    assert.deepEqual(found, []);
  });
});
