/** The real kubelet, attach/detach controller and scheduler with a volume of a CSI driver; the test plays driver and attacher. */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { startProgram } from '../../control-plane/process.ts';
import { daemonSet, deployment, podSpec } from '../../node/pods.ts';
import { keysOfNode, writeAgentFiles } from '../../support/agent/files.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import {
  apply,
  lines,
  phaseIs,
  type PodNode,
  runningPods,
  startAgent,
  startController,
  startPodNode,
} from '../../support/rigs/pod-node.ts';
import { startCsiDriver } from '../../support/stand-ins/csi-driver.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const NODE = `volumes-${process.pid}`;
const DRIVER = 'test.csi.example.com';
const HANDLE = 'vol-1';

const OBJECTS = [
  { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec: { attachRequired: true } },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-1' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'none',
      claimRef: { namespace: 'default', name: 'data' },
      csi: { driver: DRIVER, volumeHandle: HANDLE },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'none',
      volumeName: 'pv-1',
      resources: { requests: { storage: '1Gi' } },
    },
  },
];

/** A workload whose pods have these volumes too. */
function withVolumes(workload: object, spec: object, volumes: readonly object[]): object {
  const made = workload as { spec: { template: { spec: { volumes?: readonly object[] } } } };
  const pod = {
    ...made.spec.template.spec,
    ...spec,
    volumes: [...(made.spec.template.spec.volumes ?? []), ...volumes],
  };
  return { ...made, spec: { ...made.spec, template: { ...made.spec.template, spec: pod } } };
}

const ATTACHER = path.join(import.meta.dirname, '..', '..', 'support', 'stand-ins', 'csi-attacher.ts');

interface Rig extends PodNode {
  /** Lets the driver unstage; before, it hangs. */
  readonly release: () => void;
}

/** A node with a pod that has a volume, and with the DaemonSet pod of its driver. */
async function buildRig(stack: AsyncDisposableStack): Promise<Rig> {
  const podNode = await startPodNode(stack, NODE);
  const { folder, controlPlane, node, witness } = podNode;
  const journal = path.join(witness, 'log');
  const note = async (what: string): Promise<void> => {
    await appendFile(journal, `${what}\n`);
  };
  const unstage = Promise.withResolvers<undefined>();
  const beforeUnstage = async (): Promise<void> => {
    await unstage.promise;
    await delay(2_000);
  };
  stack.use(await startCsiDriver({ name: DRIVER, nodeName: NODE, rootDir: node.rootDir, note, beforeUnstage }));
  const attacher = [process.execPath, '--disable-warning=ExperimentalWarning', ATTACHER] as const;
  stack.use(startProgram([...attacher, controlPlane.adminKubeconfig], path.join(folder, 'attacher.log')));
  const shape = { stopSec: 1, witness };
  const claim = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
  const spec = podSpec('web', shape) as { containers: readonly { volumeMounts: readonly object[] }[] };
  const containers = spec.containers.map((each) => {
    return { ...each, volumeMounts: [...each.volumeMounts, { name: 'data', mountPath: '/data' }] };
  });
  const dirs = ['plugins_registry', `plugins/${DRIVER}`].map((dir, index) => {
    return { name: `dir-${index}`, hostPath: { path: path.join(node.rootDir, dir) } };
  });
  const objects = [
    ...OBJECTS,
    withVolumes(deployment('web', shape), { containers }, [claim]),
    // Its priority alone would let it leave first of the DaemonSet pods.
    withVolumes(daemonSet('csi', shape), {}, dirs),
    daemonSet('logger', { ...shape, priorityClassName: 'system-node-critical' }),
  ];
  await apply(podNode, objects);
  await waitFor('all three pods run', async () => (await runningPods(controlPlane)).length === 3, SLOW);
  return { ...podNode, release: () => unstage.resolve(undefined) };
}

async function maintenanceOf({ controlPlane }: Rig): Promise<NodeMaintenance | undefined> {
  const text = await controlPlane.kubectl(['get', 'nodemaintenances', '-o', 'json']);
  return (JSON.parse(text) as { items: readonly NodeMaintenance[] }).items[0];
}

/** Drains the node for a shutdown, until the driver that hangs is what is waited for. */
async function drainUntilUnmount(stack: AsyncDisposableStack, rig: Rig): Promise<string> {
  const files = await writeAgentFiles(rig.folder, keysOfNode(rig.node));
  await startAgent(stack, { ...rig, ...files });
  await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', files.runDirectory]);
  const waits = async (): Promise<boolean> =>
    (await maintenanceOf(rig))?.status?.nodeStatuses?.[0]?.volumesInUse !== undefined;
  await waitFor('the drain waits for the volume', waits, SLOW);
  return files.runDirectory;
}

async function untilReleased(rig: Rig, runDirectory: string): Promise<readonly string[]> {
  await waitFor('the lock is released', () => phaseIs({ runDirectory }, 'released'), SLOW);
  return await lines(rig);
}

const IN_ORDER = ['web TERM', 'web END', 'logger TERM', 'logger END', `unstaged ${HANDLE}`, 'csi TERM', 'csi END'];

/** Drains the node while its driver hangs, and lets it go on. */
async function checkOrder(stack: AsyncDisposableStack, rig: Rig): Promise<void> {
  const runDirectory = await drainUntilUnmount(stack, rig);
  await delay(3_000);
  const status = (await maintenanceOf(rig))?.status?.nodeStatuses?.[0];
  assert.match(status?.drainMessage ?? '', /^Waiting for the volumes .*vol-1 to be unmounted/);
  rig.release();
  assert.deepEqual(await untilReleased(rig, runDirectory), IN_ORDER);
}

describe('the volumes of a node that is drained', () => {
  it('the pods leave, the volume is unstaged, then the driver leaves, then the lock is released', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack);
    startController(stack, rig.folder, rig.controllerKubeconfig);
    await checkOrder(stack, rig);
  });
});
