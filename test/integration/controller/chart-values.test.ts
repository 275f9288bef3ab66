/** The values of the Helm chart: what its schema refuses, and what null means. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { makeTestFolder } from '../../support/folder.ts';

const CHART = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'chart');

describe('the values of the Helm chart', () => {
  const signal = AbortSignal.timeout(120_000);
  let folder: string;
  let helm: Helm;
  before(async () => {
    folder = await makeTestFolder('chart-values');
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
      ['surge.resources.limits.memory=much', 'memory'],
      ['controller.priorityClassName=No_Such', 'priorityClassName'],
      ['image.repository=Registry/Nodemaint:1', 'repository'],
      ['monitoring.rules.labels.app=a b', 'labels'],
    ];
    for (const [value, name] of bad) {
      await assert.rejects(render('--set', value), new RegExp(`meet the specifications[^]*${name}`), value);
    }
  });

  it('a value of the Helm chart that is null is refused by name, or means its default', async () => {
    const refused = ['crds.keep', 'crds.install', 'webhook.enabled', 'networkPolicy.enabled', 'webhook', 'monitoring'];
    for (const value of refused) {
      const name = value.split('.').at(-1) ?? '';
      await assert.rejects(render('--set', `${value}=null`), new RegExp(`missing property '${name}'`), value);
    }
    const on = 'monitoring.podMonitor.enabled=true,monitoring.rules.enabled=true,installer.enabled=true';
    const known = await render('--set', on);
    const rules = ['labels', 'alertLabels', 'thresholds', 'for', 'disabled'].map((name) => `monitoring.rules.${name}`);
    const others = [
      'controller.tolerations',
      'controller.replicas',
      'installer.config',
      'monitoring.podMonitor.labels',
    ];
    for (const value of [...rules, ...others]) {
      assert.equal(await render('--set', `${on},${value}=null`), known, value);
    }
  });
});
