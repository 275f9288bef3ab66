/** What a person and the metrics see of a drain by `lifecycle.k8s.io`: the same as of one in the older dialect. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from '../../../src/api/pod.ts';
import type { DrainView } from '../../../src/show/progress/drain-progress.ts';
import { freePort } from '../../control-plane/port.ts';
import { runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import type { LifecycleRig } from '../../support/rigs/lifecycle.ts';
import { EVICTIONS } from '../../support/rigs/lifecycle.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import { B, report, type Scene } from './scene.ts';

/** What the cases need of the tests of drains. */
export interface DrainSteps {
  readonly rigOf: () => LifecycleRig;
  readonly scene: Scene;
  createNode(name: string): Promise<void>;
  createPod(namespace: string, name: string, spec: object): Promise<Pod>;
  drain(node: string): Promise<void>;
}

/** The value of a metric with these labels; undefined where it is not there. */
function metricOf(text: string, sample: string): string | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line?.slice(sample.length + 1);
}

export function addLookCases({ rigOf, scene, createNode, createPod, drain }: DrainSteps): void {
  it('status, watch, preview, report and metrics show the responders as they show interceptors', async () => {
    const rig = rigOf();
    const { kubectl, adminKubeconfig } = rig.controlPlane;
    const port = await freePort();
    const stop = await rig.startController({ metricsAddress: `127.0.0.1:${port}` });
    const namespace = await scene.newNamespace();
    await createNode('z4');
    const selector = { matchLabels: { app: 'web' } };
    const budget = { kind: 'PodDisruptionBudget', metadata: { name: 'db', namespace } };
    const policy = { apiVersion: 'policy/v1', ...budget, spec: { minAvailable: 1, selector } };
    await kubectl(['apply', '-f', '-'], JSON.stringify(policy));
    await createPod(namespace, 'web', { nodeName: 'z4', evictionResponders: [{ name: B, priority: 2000 }] });
    const access = ['--kubeconfig', adminKubeconfig];
    const nodemaint = async (...args: readonly string[]): Promise<string> => {
      const { stdout, stderr, code } = await runNodemaint([...args, ...access]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const metric = async (sample: string): Promise<string | undefined> =>
      metricOf(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), sample);

    assert.match(await nodemaint('preview', 'z4'), /b\.example\.com\/bar/);
    await drain('z4');
    const first = { metadata: { name: 'pod-1-web', namespace } };
    const eviction = await scene.untilEviction(first, 'B has its turn', ({ status }) => {
      return status?.targetResponders?.[0]?.state === 'Active';
    });
    await rig.respond(eviction, report(B, false));
    assert.match(await nodemaint('status', 'nm/of-z4'), /b\.example\.com\/bar/);
    // The times in the cluster, and so those of the report, are whole seconds: it shows nobody who acted for less than one.
    await delay(1_500);
    await rig.respond(eviction, report(B, true));

    const pods = async (): Promise<DrainView['nodes'][number]['tiers'][number]['pods']> => {
      const view = JSON.parse(await nodemaint('status', 'nm/of-z4', '-o', 'json')) as DrainView;
      return view.nodes.flatMap(({ tiers }) => tiers.flatMap((tier) => tier.pods));
    };
    const isBlocked = async (): Promise<boolean> => (await pods())[0]?.blocking?.reason === 'PodDisruptionBudget';
    await waitFor('the budget is named', isBlocked, SLOW);
    const [{ progress } = { progress: undefined }] = await pods();
    assert.equal(progress?.active?.name, 'imperative-eviction.k8s.io');
    assert.equal(progress.active.blocked, true);
    assert.deepEqual(
      progress.interceptors.map(({ name, state }) => [name, state]),
      [
        [B, 'done'],
        ['imperative-eviction.k8s.io', 'blocked'],
      ],
    );
    const controller = 'evictionrequest_controller';
    const isCounted = async (): Promise<boolean> =>
      (await metric(`${controller}_active_interceptor{interceptor="imperative-eviction.k8s.io"}`)) === '1' &&
      (await metric('nodemaintenance_controller_blocking_pods{reason="PodDisruptionBudget"}')) === '1';
    await waitFor('the metrics count it', isCounted, SLOW);
    assert.equal(await metric(`${controller}_processed_interceptor{interceptor="${B}"}`), '1');
    assert.equal(await metric(`${controller}_active_requester{requester="nodemaintenance.k8s.io"}`), '1');

    const log = path.join(rig.controlPlane.logs, 'watch.log');
    const watch = startNodemaint(['status', 'nm/of-z4', '--watch', '--timeout', '60s', ...access], log);
    const told = async (): Promise<string> => await readFile(log, 'utf8').catch(() => '');
    const tells = async (words: string): Promise<boolean> => (await told()).includes(words);
    await waitFor('the watch names the budget', () => tells('PodDisruptionBudget'), SLOW);
    await kubectl(['delete', 'pdb', 'db', '-n', namespace]);
    await waitFor('the watch tells of the end', () => tells('node/z4 drained'), { ...SLOW, program: watch });
    await watch.stop();
    assert.match(await nodemaint('report', 'nm/of-z4'), /b\.example\.com\/bar/);
    await kubectl(['delete', 'nm', 'of-z4', '--timeout=60s']);
    await waitFor(
      'the Eviction is collected',
      async () => (await rig.get(EVICTIONS, namespace, 'pod-1-web')) === undefined,
      SLOW,
    );
    await stop();
  });
}
