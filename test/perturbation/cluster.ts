import { rm } from 'node:fs/promises';
import { type ClusterAccess, loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { runMachine } from '../chaos/machine/kubelet.ts';
import { type Machine, openMachine } from '../chaos/machine/machine.ts';
import { runInterceptors } from '../chaos/stand-ins/interceptors.ts';
import { runKubelets } from '../chaos/stand-ins/kubelets.ts';
import type { ClusterPart } from '../chaos/world.ts';
import { createWriteLog, type WriteLog } from '../chaos/audit.ts';
import { createTimeline, type Timeline } from '../chaos/timeline.ts';
import { CHECKOUT, loadProduct, type Product } from '../chaos/product.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { releaseOf } from '../control-plane/releases.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { installControllers, installLifecycle, LIFECYCLE_FLAGS } from '../support/rigs/lifecycle.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Running } from './actor.ts';

/** Whose credentials a program has: the controller's, those of the add-on for `lifecycle.k8s.io`, or a cluster admin's. */
export type Account = 'controller' | 'lifecycle' | 'admin';

/** A plan holds nothing longer than a second. */
const PATIENCE_MS = 30_000;

/** The machine of a node on which a scenario has an agent. */
export interface PlanMachine
  extends AsyncDisposable,
    Pick<
      Machine,
      'nodeName' | 'moves' | 'manifests' | 'addManifest' | 'phase' | 'reboot' | 'bootedAt' | 'announceShutdown'
    > {
  /** Runs the agent of the machine, with the identity of its node. */
  runAgent(running: Running): Promise<void>;
  /** Plays its kubelet and its container runtime until the signal is aborted. */
  play(part: ClusterPart, signal: AbortSignal): Promise<void>;
}

/** The cluster of a plan. */
export interface PerturbationCluster {
  /** As cluster admin. */
  readonly client: KubeClient;
  /** Everything that was there, and is. */
  readonly timeline: Pick<Timeline, 'record' | 'list'>;
  /** Who wrote what. */
  readonly writes: Pick<WriteLog, 'read'>;
  /** The beginning of the names of the next plan. */
  newId(): string;
  /** Whether plans share it: each program sees the objects of its plan then, and controllers have their Lease in its namespace. */
  readonly isShared: boolean;
  /** How long anything may take that a scenario waits for. */
  readonly patienceMs: number;
  /** Opens a connection of its own. */
  connect(as: Account): KubeClient;
  /** Lays out a machine for a node, which need not exist. */
  openMachine(nodeName: string): Promise<PlanMachine>;
  /** Plays what is around the product in the part, until the signal is aborted. */
  play(part: ClusterPart, signal: AbortSignal): Promise<void>;
}

async function openRealMachine(controlPlane: ControlPlane, product: Product, nodeName: string): Promise<PlanMachine> {
  const machine = await openMachine(controlPlane, product, nodeName);
  const { runAgent } = machine;
  return Object.assign(machine, {
    runAgent: async ({ client, log, asked, killed }: Running): Promise<void> => {
      const connect = (access: ClusterAccess): KubeClient => client(createKubeClient(access, 'nodemaint-agent'));
      await runAgent({ log, connect }, asked, killed);
    },
    play: (part: ClusterPart, signal: AbortSignal) => runMachine(Object.assign(part, { machine }), signal),
  });
}

/**
 * Starts a control plane with the product's manifests and no program of the product. Its API server is that of Kubernetes 1.37,
 * which has both dialects.
 */
export async function startPerturbationCluster(): Promise<PerturbationCluster & AsyncDisposable> {
  // What it needs may have to be built first, which takes minutes.
  const { signal } = new AbortController();
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('perturbation');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const writes = await createWriteLog(folder);
  const apiServerFlags = [...LIFECYCLE_FLAGS, ...writes.flags];
  const controlPlane = stack.use(await startControlPlane({ apiServer: releaseOf('1.37'), apiServerFlags }, signal));
  const controller = await installManifests(controlPlane);
  await installLifecycle(controlPlane);
  const lifecycle = await installControllers(controlPlane);
  const access = {
    controller: await loadClusterAccess(controller),
    lifecycle: await loadClusterAccess(lifecycle),
    admin: await loadClusterAccess(controlPlane.adminKubeconfig),
  };
  const connect = (as: Account): KubeClient => createKubeClient(access[as], `perturbation-${as}`);
  const [client, watcher] = [connect('admin'), connect('admin')];
  const timeline = createTimeline(watcher);
  const stopping = new AbortController();
  const watching = timeline.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await watching;
    client.close();
    watcher.close();
  });
  await waitFor('the timeline is synced', timeline.synced);
  const product = await loadProduct(CHECKOUT);
  const owned = stack.move();
  let plans = 0;
  return {
    client,
    timeline,
    writes,
    newId: () => `q${(plans += 1)}`,
    isShared: true,
    patienceMs: PATIENCE_MS,
    connect,
    openMachine: (nodeName) => openRealMachine(controlPlane, product, nodeName),
    play: async (part, signal) => {
      await Promise.all([runKubelets, runInterceptors].map((run) => run(part, signal)));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
