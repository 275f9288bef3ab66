import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { NodeStatus } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import type { VolumeAttachment } from '../../../src/api/volume-attachment.ts';
import { attachmentName } from '../../../src/kube/volume/attachment-name.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../support/wait-for.ts';

const DRIVER = 'ebs.csi.aws.com';
const ATTACHMENT: VolumeAttachment = {
  metadata: { name: attachmentName({ driver: DRIVER, handle: 'vol-1' }, 'one') },
  spec: { attacher: DRIVER, nodeName: 'one', source: { persistentVolumeName: 'pvc-1' } },
};
const IN_USE = { metadata: { name: 'one' }, status: { volumesInUse: [`kubernetes.io/csi/${DRIVER}^vol-1`] } };
const CSI_POD = {
  metadata: {
    name: 'csi',
    namespace: 'kube-system',
    uid: 'u-csi',
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'csi', uid: 'd', controller: true }],
  },
  spec: {
    nodeName: 'one',
    volumes: [
      { hostPath: { path: '/var/lib/kubelet/plugins_registry/' } },
      { hostPath: { path: `/var/lib/kubelet/plugins/${DRIVER}/` } },
    ],
  },
};

function statusOf(cluster: MemoryCluster): NodeStatus | undefined {
  return cluster.get('Maintenance', 'm')?.status?.nodeStatuses?.[0];
}

function isDrained(cluster: MemoryCluster): boolean {
  const { conditions = [] } = cluster.get('Maintenance', 'm')?.status ?? {};
  return conditions.some(({ type, status }) => type === 'Drained' && status === 'True');
}

function nodeSaysDrained(cluster: MemoryCluster): boolean {
  const { conditions = [] } = cluster.get('Node', 'one')?.status ?? {};
  return conditions.some(({ type, status }) => type === 'Drained' && status === 'True');
}

describe('a drain of a node with a volume', () => {
  it('the pod of the driver leaves when the volume is unmounted and detached, and not before', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', IN_USE);
    cluster.put('Attachment', ATTACHMENT);
    cluster.put('Pod', CSI_POD);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    const isAsked = (): boolean => cluster.get('Request', 'kube-system/u-csi') !== undefined;
    const waitsFor = (what: string): Promise<void> =>
      waitFor(what, () => statusOf(cluster)?.volumesLeft?.[0]?.waitsFor === what, { timeoutMs: 5_000 });
    await waitsFor('Unmount');
    assert.deepEqual(
      statusOf(cluster)?.volumesLeft?.map(({ name, driver, givenUp }) => ({ name, driver, givenUp })),
      [{ name: 'pvc-1', driver: DRIVER, givenUp: undefined }],
    );
    const since = statusOf(cluster)?.volumesLeft?.[0]?.since;
    const node = cluster.get('Node', 'one') ?? IN_USE;
    const unmounted: Node = { ...node, status: {} };
    cluster.put('Node', unmounted);
    await waitsFor('Detach');
    assert.equal(statusOf(cluster)?.volumesLeft?.[0]?.since, since, 'it is one wait');
    assert.equal(isAsked(), false);
    cluster.remove('Attachment', ATTACHMENT.metadata.name);
    await waitFor('the eviction', isAsked, { timeoutMs: 5_000 });
  });

  it('neither the maintenance nor the node says drained while a volume is attached', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Attachment', ATTACHMENT);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the wait', () => (statusOf(cluster)?.volumesLeft ?? []).length === 1, { timeoutMs: 5_000 });
    await delay(1_500);
    assert.deepEqual([isDrained(cluster), nodeSaysDrained(cluster)], [false, false]);
    assert.match(statusOf(cluster)?.drainMessage ?? '', /^Waiting for the volume pvc-1 of ebs/);
    cluster.remove('Attachment', ATTACHMENT.metadata.name);
    await waitFor('the end', () => isDrained(cluster) && nodeSaysDrained(cluster), { timeoutMs: 5_000 });
    assert.deepEqual(
      cluster.events.map(({ reason }) => reason).filter((reason) => reason === 'VolumesLeft'),
      ['VolumesLeft'],
    );
  });

  it('a volume that nobody detaches is given up, and named', async () => {
    const cluster = createMemoryCluster({ maxVolumeTime: '1s' });
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Attachment', ATTACHMENT);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the end', () => isDrained(cluster) && nodeSaysDrained(cluster), { timeoutMs: 8_000 });
    const [condition] = cluster.get('Maintenance', 'm')?.status?.conditions ?? [];
    assert.match(condition?.message ?? '', /no longer waits for the volume pvc-1/);
    assert.ok(cluster.events.some(({ reason }) => reason === 'VolumesGivenUp'));
  });

  it('a controller that waits for no volume says drained at once', async () => {
    const cluster = createMemoryCluster({ maxVolumeTime: '0' });
    cluster.put('Node', IN_USE);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the end', () => isDrained(cluster) && nodeSaysDrained(cluster), { timeoutMs: 5_000 });
  });

  it('the wait goes on where a former controller has left it', async () => {
    const cluster = createMemoryCluster({ maxVolumeTime: '1m' });
    cluster.put('Node', { metadata: { name: 'one', uid: 'n' } });
    cluster.put('Attachment', ATTACHMENT);
    const since = new Date(Date.now() - 60_000).toISOString();
    const volumesLeft = [{ name: 'pvc-1', driver: DRIVER, waitsFor: 'Detach', since }];
    const maintenance = drainOf('m', ['one']);
    const nodeStatuses = [
      { nodeRef: { name: 'one', uid: 'n' }, drainPlanPosition: 8, drainStartTime: since, volumesLeft },
    ];
    const known = { ...maintenance, status: { nodeStatuses } };
    cluster.put('Maintenance', known);
    await using _ = cluster.lead();
    await waitFor('the end', () => isDrained(cluster), { timeoutMs: 5_000 });
  });
});
