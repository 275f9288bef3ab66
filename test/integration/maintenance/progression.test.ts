import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { describeEntry } from '../../../src/decide/maintenance/drain-plan.ts';
import { buildEvictionRig } from '../../support/rigs/eviction.ts';
import { SOON, waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const MAX = 2_147_483_647;
const POSTGRES = { matchLabels: { app: 'postgres' } };
const PLAN = [
  { podPriority: 1000, podType: 'Default' },
  { podPriority: 2000, podType: 'Default', podSelector: POSTGRES },
  { podPriority: MAX, podType: 'Default' },
  { podPriority: 1000, podType: 'DaemonSet' },
  { podPriority: MAX, podType: 'DaemonSet' },
  { podPriority: MAX, podType: 'Static' },
];

describe('KEP-4212, "PodTypes and Label Selectors Progression", on a real API server', () => {
  it('the maintenance reaches the drain targets of the example one after another', async () => {
    await using rig = await buildEvictionRig();
    const { kubectl } = rig.controlPlane;
    const apply = async (object: object): Promise<string> =>
      await kubectl(['apply', '-f', '-'], JSON.stringify(object));
    const podsOf = async (prefix: string): Promise<readonly Pod[]> => {
      const { items } = JSON.parse(await kubectl(['get', 'pods', '-o', 'json'])) as { items: Pod[] };
      return items.filter(({ metadata }) => metadata.name.startsWith(prefix));
    };
    for (const value of [500, 1500, 5000]) {
      const kind = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' };
      await apply({ ...kind, metadata: { name: `p${value}` }, value });
    }
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'five', labels: { five: 'yes' } } });
    const on = (value: number): object => ({ nodeName: 'five', priorityClassName: `p${value}` });
    // The label `app` of a pod of the rig is its name.
    await rig.createPod('plain', {}, on(500));
    await rig.createPod('postgres', {}, on(1500));
    await rig.createPod('other', {}, on(5000));
    for (const [name, value] of [
      ['low', 500],
      ['high', 5000],
    ] as const) {
      const podSpec = {
        nodeSelector: { five: 'yes' },
        priorityClassName: `p${value}`,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'none.invalid/none' }],
      };
      const template = { metadata: { labels: { name } }, spec: podSpec };
      const spec = { selector: { matchLabels: { name } }, template };
      await apply({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name }, spec });
      // The scheduler does not take a node without a kubelet; the test binds in its place.
      await waitFor(name, async () => (await podsOf(name)).length === 1, SOON);
      const [pod] = await podsOf(name);
      const target = { apiVersion: 'v1', kind: 'Node', name: 'five' };
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod?.metadata.name }, target };
      const path = `/api/v1/namespaces/default/pods/${pod?.metadata.name}/binding`;
      await rig.client.send({ method: 'POST', path, body }, AbortSignal.timeout(10_000));
    }
    await rig.createPod('mirror', { 'kubernetes.io/config.mirror': 'hash' }, on(5000));

    await rig.startController();
    await apply(drainOf('progression', ['five'], { drainPlan: PLAN }));

    const targets = async (): Promise<readonly string[]> => {
      const { status } = JSON.parse(await kubectl(['get', 'nm', 'progression', '-o', 'json'])) as NodeMaintenance;
      return (status?.nodeStatuses?.[0]?.drainTargets ?? []).map(describeEntry);
    };
    const postgres = (podPriority: number): string =>
      describeEntry({ podPriority, podType: 'Default', podSelector: POSTGRES });
    const full = [`Default ≤ ${MAX}`, postgres(MAX)];
    const steps: readonly (readonly [string, readonly string[]])[] = [
      ['plain', ['Default ≤ 1000', postgres(1000)]],
      ['postgres', ['Default ≤ 1000', postgres(2000)]],
      // The injected entries of the other priorities have no pods: they are passed over.
      ['other', ['Default ≤ 1000000000', postgres(1_000_000_000)]],
      ['low', [...full, 'DaemonSet ≤ 1000']],
      ['high', [...full, 'DaemonSet ≤ 1000000000']],
      ['mirror', [...full, `DaemonSet ≤ ${MAX}`, 'Static ≤ 1000000000']],
    ];
    for (const [name, expected] of steps) {
      await waitFor(name, async () => JSON.stringify(await targets()) === JSON.stringify(expected), SOON).catch(
        () => undefined,
      );
      assert.deepEqual(await targets(), expected, `before ${name} leaves`);
      for (const { metadata } of await podsOf(name)) {
        // A gated pod of a DaemonSet is not on the node; one that was targeted is.
        await rig.endPod(metadata.name);
      }
    }
    await kubectl(['wait', '--for=condition=Drained', 'nm/progression', '--timeout=20s']);
  });
});
