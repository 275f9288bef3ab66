import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeStatus } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../support/wait-for.ts';

const DRIVER = 'ebs.csi.aws.com';
const VOLUME = `kubernetes.io/csi/${DRIVER}^vol-1`;
const IN_USE: Node = { metadata: { name: 'one' }, status: { volumesInUse: [VOLUME] } };
const ATTACHED: Node = { metadata: { name: 'one' }, status: { volumesAttached: [{ name: VOLUME }] } };
const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'csi', uid: 'd', controller: true };
const CSI_POD = {
  metadata: { name: 'csi', namespace: 'kube-system', uid: 'u-csi', ownerReferences: [OWNER] },
  spec: { nodeName: 'one', volumes: [{ hostPath: { path: '/var/lib/kubelet/plugins_registry/' } }] },
};

function statusOf(cluster: MemoryCluster): NodeStatus | undefined {
  return cluster.get('Maintenance', 'm')?.status?.nodeStatuses?.[0];
}

/** Whether the maintenance says drained, and whether the node does. */
function drained(cluster: MemoryCluster): readonly boolean[] {
  return [cluster.get('Maintenance', 'm')?.status, cluster.get('Node', 'one')?.status].map((found) => {
    return found?.conditions?.some(({ type, status }) => type === 'Drained' && status === 'True') === true;
  });
}

/** A cluster whose drain of the node `one` begins. */
function drainOfOne(node: Node, options: Parameters<typeof createMemoryCluster>[0] = {}): MemoryCluster {
  const cluster = createMemoryCluster(options);
  cluster.put('Node', node);
  cluster.put('Maintenance', drainOf('m', ['one']));
  return cluster;
}

/** What the kubelet and the attach/detach controller report of the node, which has the rest of the controller. */
function report(cluster: MemoryCluster, { status }: Node): void {
  const node = cluster.get('Node', 'one') ?? assert.fail();
  const reported: Node = { ...node, status: { conditions: node.status?.conditions ?? [], ...status } };
  cluster.put('Node', reported);
}

describe('a drain of a node with a volume', () => {
  it('the pod of the driver leaves when the volume is unmounted and detached, and not before', async () => {
    const cluster = drainOfOne(IN_USE);
    cluster.put('Pod', CSI_POD);
    await using _ = cluster.lead();
    const isAsked = (): boolean => cluster.get('Request', 'kube-system/u-csi') !== undefined;
    const left = (): NodeStatus['volumesInUse'] => statusOf(cluster)?.volumesInUse;
    await waitFor('the wait', () => left() !== undefined, { timeoutMs: 5_000 });
    const since = left()?.since;
    assert.deepEqual(left(), { names: [VOLUME], since });
    report(cluster, ATTACHED);
    await delay(1_500);
    assert.deepEqual([left()?.since, isAsked()], [since, false], 'it is one wait');
    report(cluster, { metadata: { name: 'one' } });
    await waitFor('the eviction', isAsked, { timeoutMs: 5_000 });
  });

  it('neither the maintenance nor the node says drained while a volume is attached', async () => {
    const cluster = drainOfOne(ATTACHED);
    await using _ = cluster.lead();
    await waitFor('the wait', () => statusOf(cluster)?.volumesInUse !== undefined, { timeoutMs: 5_000 });
    await delay(1_500);
    assert.deepEqual(drained(cluster), [false, false]);
    const { drainMessage = '' } = statusOf(cluster) ?? {};
    assert.match(drainMessage, /^Waiting for the volumes .*vol-1 to be unmounted and detached/);
    report(cluster, { metadata: { name: 'one' } });
    await waitFor('the end', () => drained(cluster).every(Boolean), { timeoutMs: 5_000 });
    assert.equal(cluster.events.filter(({ reason }) => reason === 'VolumesLeft').length, 1);
  });

  it('a volume that nobody detaches is given up, and named', async () => {
    const cluster = drainOfOne(ATTACHED, { maxVolumeTime: '1s' });
    await using _ = cluster.lead();
    await waitFor('the end', () => drained(cluster).every(Boolean), { timeoutMs: 8_000 });
    const [condition] = cluster.get('Maintenance', 'm')?.status?.conditions ?? [];
    assert.match(condition?.message ?? '', /no longer waits for the volumes .*vol-1/);
    assert.ok(cluster.events.some(({ reason }) => reason === 'VolumesGivenUp'));
  });

  it('a controller that waits for no volume says drained at once', async () => {
    const cluster = drainOfOne(IN_USE, { maxVolumeTime: '0' });
    await using _ = cluster.lead();
    await waitFor('the end', () => drained(cluster).every(Boolean), { timeoutMs: 5_000 });
  });

  it('the wait goes on where a former controller has left it', async () => {
    const cluster = createMemoryCluster({ maxVolumeTime: '1m' });
    cluster.put('Node', { ...ATTACHED, metadata: { name: 'one', uid: 'n' } });
    const since = new Date(Date.now() - 60_000).toISOString();
    const volumesInUse = { names: [VOLUME], since };
    const nodeStatuses = [
      { nodeRef: { name: 'one', uid: 'n' }, drainPlanPosition: 8, drainStartTime: since, volumesInUse },
    ];
    const known: NodeMaintenance = { ...drainOf('m', ['one']), status: { nodeStatuses } };
    cluster.put('Maintenance', known);
    await using _ = cluster.lead();
    await waitFor('the end', () => drained(cluster).every(Boolean), { timeoutMs: 5_000 });
  });
});
