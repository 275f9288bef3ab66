import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../../src/kube/client.ts';
import { pause } from '../../parallel.ts';
import { drainBare, takeBack } from '../bare-drain.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { type ScaleCluster, startScaleCluster } from '../cluster.ts';
import { drainWithKubectl } from '../drains.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 5;
/** The API server's copies of policies follow after this time. */
const SETTLE_MS = 1_500;
const OWN = 'nodemaint-';
/** What makes the API server look at a write: bindings of policies, and webhooks. */
const KINDS = [
  'validatingadmissionpolicybinding',
  'mutatingadmissionpolicybinding',
  'validatingwebhookconfiguration',
] as const;

interface Guard {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

async function guardsOf({ controlPlane }: ScaleCluster): Promise<readonly Guard[]> {
  const lists = await Promise.all(
    KINDS.map(
      async (kind) => JSON.parse(await controlPlane.kubectl(['get', kind, '-o', 'json'])) as { items: Guard[] },
    ),
  );
  return lists.flatMap(({ items }) => items).filter(({ metadata }) => metadata.name.startsWith(OWN));
}

async function remove({ controlPlane }: ScaleCluster, guards: readonly Guard[]): Promise<void> {
  for (const { kind, metadata } of guards) await controlPlane.kubectl(['delete', kind.toLowerCase(), metadata.name]);
}

async function putBack({ controlPlane }: ScaleCluster, guards: readonly Guard[]): Promise<void> {
  for (const guard of guards) {
    const { resourceVersion: _, uid: __, ...metadata } = guard.metadata as Guard['metadata'] & Record<string, unknown>;
    await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify({ ...guard, metadata }));
  }
}

async function run({ signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  const pods = count * PODS_PER_NODE;
  const controller = createKubeClient(await loadClusterAccess(cluster.controllerKubeconfig), 'nodemaint-controller');
  await using stack = new AsyncDisposableStack();
  stack.defer(() => {
    controller.close();
  });
  await cluster.makeNodes(nodes);
  const guards = await guardsOf(cluster);
  const webhooks = guards.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  // No controller runs that could answer.
  await remove(cluster, webhooks);
  const policies = guards.filter((guard) => !webhooks.includes(guard));
  const rows: Row[] = [];
  let kubectl = Number.NaN;
  const add = (name: string, perPod: number, requests: number): void => {
    rows.push({ name, values: [inFigures(perPod), inFigures(requests), inFigures(perPod / kubectl)] });
  };
  const round = async (name: string, without: readonly Guard[]): Promise<number> => {
    await remove(cluster, without);
    await cluster.addPods(nodes, { perNode: PODS_PER_NODE });
    await pause(SETTLE_MS, signal);
    const { apiServerMs, calls } = await drainBare(cluster, controller, nodes);
    if (name !== '') add(name, apiServerMs / pods, calls.length / pods);
    await takeBack(cluster, nodes);
    await putBack(cluster, without);
    return apiServerMs / pods;
  };
  await round('', []);
  await cluster.addPods(nodes, { perNode: PODS_PER_NODE });
  const drained = await drainWithKubectl(cluster, nodes);
  kubectl = drained.apiServerMs / pods;
  add('kubectl drain', kubectl, drained.calls.length / pods);
  await cluster.uncordon(nodes);
  const first = await round('the writes of a drain, with all policies', []);
  for (const policy of policies) await round(`  without ${policy.metadata.name.slice(OWN.length)}`, [policy]);
  await round('  with all policies again', []);
  const bare = await round('  without any policy', policies);
  return {
    title: `${count} nodes × ${PODS_PER_NODE} pods, the writes of a maintenance for each node by a bare client`,
    columns: ['ms per pod', 'requests', '÷ kubectl'],
    rows,
    growing: { 'with policies': first, 'without policies': bare },
    nodes: count,
  };
}

/** What the writes of a drain cost the API server without a controller, and what each policy adds. */
export const WRITES: Case = {
  what: 'what the writes of a drain cost the API server without a controller, with and without each policy',
  quick: 30,
  full: [30],
  run,
};
