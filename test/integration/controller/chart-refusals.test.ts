/** What the schema of the Helm chart's values refuses, and what null means there. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { makeTestFolder } from '../../support/folder.ts';

const CHART = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'chart');

describe('what the Helm chart refuses', () => {
  const signal = AbortSignal.timeout(120_000);
  let folder: string;
  let helm: Helm;
  before(async () => {
    folder = await makeTestFolder('chart-refusals');
    helm = await createHelm({ folder }, signal);
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const render = (...args: readonly string[]): Promise<string> => helm(['template', 'nodemaint', CHART, ...args]);

  it('the Helm chart refuses by name what an API server would refuse', async () => {
    const bad: readonly [string, string][] = [
      ['installer.maxUnavailable=0%', 'maxUnavailable'],
      ['installer.maxUnavailable=101%', 'maxUnavailable'],
      ['controller.nodeSelector.disk=true', 'nodeSelector'],
      ['controller.tolerations[0].value=x', 'tolerations'],
      ['installer.tolerations[0].operator=Exists,installer.tolerations[0].value=x', 'tolerations'],
      ['controller.extraEnv[0].value=x', 'extraEnv'],
      ['controller.resources.memory=1Gi', 'resources'],
      ['controller.resources.limits.memory=much', 'memory'],
      ['controller.priorityClassName=No_Such', 'priorityClassName'],
      ['image.repository=Registry/Nodemaint:1', 'repository'],
      ['monitoring.rules.labels.app=a b', 'labels'],
    ];
    for (const [value, name] of bad) {
      await assert.rejects(render('--set', value), new RegExp(`meet the specifications[^]*${name}`), value);
    }
  });

  it('the Helm chart refuses to be installed without the place of the image, in a sentence', async () => {
    await assert.rejects(
      render('--set', 'image.repository='),
      /image\.repository is not set: copy the image into your/,
    );
  });

  it('null takes a list or a map of the Helm chart away; any other value that is null is refused by name', async () => {
    const refused = [
      'crds.keep',
      'controller.replicas',
      'controller.logLevel',
      'controller.podLabels',
      'webhook.enabled',
      'monitoring.podMonitor.labels',
      'webhook',
      'monitoring',
    ];
    for (const value of refused) {
      const name = value.split('.').at(-1) ?? '';
      await assert.rejects(render('--set', `${value}=null`), new RegExp(`missing property '${name}'`), value);
    }
    const on = 'monitoring.podMonitor.enabled=true,monitoring.rules.enabled=true,installer.enabled=true';
    const known = await render('--set', on);
    const rules = ['labels', 'alertLabels', 'thresholds', 'for', 'disabled'].map((name) => `monitoring.rules.${name}`);
    for (const value of [...rules, 'installer.config', 'controller.extraArgs', 'controller.podAnnotations']) {
      assert.equal(await render('--set', `${on},${value}=null`), known, value);
    }
    assert.doesNotMatch(await render('--set', 'controller.tolerations=null'), /tolerations:/);
  });
});
