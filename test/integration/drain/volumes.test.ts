/** The real kubelet, attach/detach controller and scheduler with a volume of a CSI driver; the test plays driver and attacher. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { startProgram } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, deployment, podSpec } from '../../node/pods.ts';
import { keysOfNode, writeAgentFiles } from '../../support/agent/files.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
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

async function getJson<T>(controlPlane: ControlPlane, ...what: readonly string[]): Promise<T> {
  return JSON.parse(await controlPlane.kubectl(['get', ...what, '-o', 'json'])) as T;
}

const ATTACHER = path.join(import.meta.dirname, '..', '..', 'support', 'stand-ins', 'csi-attacher.ts');

interface Rig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly controllerConfig: string;
  readonly node: TestNode;
  readonly journal: string;
  /** Lets the driver unstage; before, it hangs. */
  readonly release: () => void;
}

/** A node with a pod that has a volume, and with the DaemonSet pod of its driver. */
async function buildRig(stack: AsyncDisposableStack): Promise<Rig> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('volumes');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const { controlPlane, controllerKubeconfig: controllerConfig } = stack.use(await startInstalledCluster({}, signal));
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const witness = path.join(folder, 'witness');
  const journal = path.join(witness, 'log');
  await mkdir(witness);
  await writeFile(journal, '');
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
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const running = async (): Promise<boolean> => {
    const { items } = await getJson<{ items: readonly { status: { phase: string } }[] }>(controlPlane, 'pods');
    return items.filter(({ status }) => status.phase === 'Running').length === 3;
  };
  await waitFor('all three pods run', running, SLOW);
  return { folder, controlPlane, controllerConfig, node, journal, release: () => unstage.resolve(undefined) };
}

async function maintenanceOf({ controlPlane }: Rig): Promise<NodeMaintenance | undefined> {
  return (await getJson<{ items: readonly NodeMaintenance[] }>(controlPlane, 'nodemaintenances')).items[0];
}

/** Drains the node for a shutdown, until the driver that hangs is what is waited for. */
async function drainUntilUnmount(stack: AsyncDisposableStack, rig: Rig): Promise<string> {
  const files = await writeAgentFiles(rig.folder, keysOfNode(rig.node));
  const agent = stack.use(startNodemaint(['agent', '--config', files.configFile], path.join(rig.folder, 'agent.log')));
  const answers = async (): Promise<boolean> => (await readAgentStatus(files.runDirectory)).node === NODE;
  await waitFor('the agent answers', answers, { ...SLOW, program: agent });
  await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', files.runDirectory]);
  const waits = async (): Promise<boolean> =>
    (await maintenanceOf(rig))?.status?.nodeStatuses?.[0]?.volumesInUse !== undefined;
  await waitFor('the drain waits for the volume', waits, SLOW);
  return files.runDirectory;
}

async function untilReleased(rig: Rig, runDirectory: string): Promise<readonly string[]> {
  const isReleased = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).phase.kind === 'released';
  await waitFor('the lock is released', isReleased, SLOW);
  return (await readFile(rig.journal, 'utf8')).trim().split('\n');
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
    const log = path.join(rig.folder, 'controller.log');
    stack.use(startNodemaint(['controller', '--kubeconfig', rig.controllerConfig], log));
    await checkOrder(stack, rig);
  });
});
