/** The metrics, the rules and the dashboard, with a real Prometheus, a real agent and a real controller during a drain. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { freePort } from '../../control-plane/port.ts';
import { type Prometheus, promtool, startPrometheus } from '../../prometheus/prometheus.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { dashboardQueries, ruleGroups } from '../../support/monitoring.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { type Replica, startReplica, untilLeads } from '../../support/rigs/leader.ts';
import { waitFor } from '../../support/wait-for.ts';

const PROMTOOL_TEST = path.join(import.meta.dirname, '..', '..', 'prometheus', 'rules-test.yaml');

describe('the metrics with a real Prometheus', () => {
  let rig: EvictionRig;
  let controller: Replica;
  let agentUrl: string;
  let prometheus: Prometheus;
  let runDirectory: string;
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    controller = stack.use(await startReplica(rig, 'controller'));
    await untilLeads(controller);
    const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const folder = path.join(rig.folder, 'agent');
    await mkdir(path.join(folder, 'manifests'), { recursive: true });
    const metricsAddress = `127.0.0.1:${await freePort()}`;
    agentUrl = `http://${metricsAddress}`;
    const files = await writeAgentFiles(folder, { kubeconfig, nodeName: NODE, onBoot: 'complete', metricsAddress });
    ({ runDirectory } = files);
    const agentLog = path.join(rig.folder, 'agent.log');
    const agent = stack.use(startNodemaint(['agent', '--config', files.configFile], agentLog));
    const isReady = async (): Promise<boolean> => (await fetch(`${agentUrl}/readyz`)).ok;
    await waitFor('the agent is ready', isReady, { timeoutMs: 30_000, program: agent });
    const job = (name: string, url: string): object => ({
      job_name: name,
      static_configs: [{ targets: [new URL(url).host] }],
    });
    await writeFile(path.join(rig.folder, 'rules.yaml'), stringify(await ruleGroups()));
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [job('nodemaint-controller', controller.url), job('nodemaint-agent', agentUrl)],
    };
    const configFile = path.join(rig.folder, 'prometheus.yaml');
    await writeFile(configFile, stringify(config));
    prometheus = stack.use(await startPrometheus(configFile, rig.folder, signal));
  });
  after(() => stack.disposeAsync());

  it('promtool finds nothing wrong with the metrics of agent and controller', async () => {
    for (const url of [agentUrl, controller.url]) {
      const text = await (await fetch(`${url}/metrics`)).text();
      assert.ok(text.length > 1_000);
      assert.equal(await promtool(['check', 'metrics'], text, signal), '', url);
    }
  });

  it('promtool finds nothing wrong with the rules, and their tests pass', async () => {
    const rules = path.join(rig.folder, 'rules.yaml');
    assert.match(await promtool(['check', 'rules', rules], '', signal), /SUCCESS: \d+ rules found/);
    const tests = path.join(rig.folder, 'rules-test.yaml');
    await copyFile(PROMTOOL_TEST, tests);
    assert.match(await promtool(['test', 'rules', tests], '', signal), /SUCCESS/);
  });

  it('each query of the dashboard has data during a drain that a budget blocks', async () => {
    const { kubectl } = rig.controlPlane;
    // A budget does not protect a pod that is pending.
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    for (const name of ['first', 'held']) {
      await rig.createPod(name);
      await kubectl(['patch', 'pod', name, '--subresource=status', '-p', JSON.stringify({ status })]);
    }
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'held', namespace: 'default' },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'held' } } },
    };
    await kubectl(['apply', '-f', '-'], JSON.stringify(budget));
    const trigger = await runNodemaint(['trigger', '--reason', 'a test', '--run-directory', runDirectory]);
    assert.equal(trigger.code, 0, trigger.stderr);
    const isLeaving = async (): Promise<boolean> =>
      (await rig.getPod('first'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the first pod leaves', isLeaving, { timeoutMs: 30_000 });
    await rig.endPod('first');
    const queries = await dashboardQueries();
    assert.ok(queries.length > 25);
    let missing: readonly string[] = [];
    const haveData = async (): Promise<boolean> => {
      const found = await Promise.all(queries.map(({ expression }) => prometheus.query(expression)));
      // No drain has ended yet: its duration has no quantile, which is a number that is none.
      missing = queries.filter((_query, place) => (found[place] ?? []).length === 0).map(({ title }) => title);
      return missing.length === 0;
    };
    await waitFor('each query has data', haveData, { timeoutMs: 90_000 }).catch((error: unknown) => {
      throw new Error(`without data: ${missing.join(', ')}`, { cause: error });
    });
    const number = async (expression: string): Promise<number> =>
      Number((await prometheus.query(expression))[0]?.value?.[1]);
    assert.equal(await number('sum(nodemaint_phase{phase="draining"})'), 1);
    assert.equal(await number('max by (state) (nodemaintenance_controller_drains{state="draining"})'), 1);
    const isBlocked = async (): Promise<boolean> =>
      (await number('sum(nodemaintenance_controller_blocking_pods)')) === 1;
    await waitFor('the budget is counted', isBlocked, { timeoutMs: 60_000 });
    const ended = 'sum(evictionrequest_controller_eviction_duration_seconds_count{outcome="evicted"})';
    assert.equal(await number(ended), 1);
    const reasons = await kubectl(['get', 'events', '-A', '-o', 'jsonpath={.items[*].reason}']);
    for (const reason of ['DrainBlocked', 'ShutdownHeld']) assert.ok(reasons.includes(reason), reason);
  });
});
