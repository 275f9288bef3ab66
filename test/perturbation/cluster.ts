import { rm } from 'node:fs/promises';
import { loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { createWriteLog, type WriteLog } from '../chaos/audit.ts';
import { createTimeline, type Timeline } from '../chaos/timeline.ts';
import { CHECKOUT, loadProduct, type Product } from '../chaos/product.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { releaseOf } from '../control-plane/releases.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { installControllers, installLifecycle, LIFECYCLE_FLAGS } from '../support/rigs/lifecycle.ts';
import { waitFor } from '../support/wait-for.ts';

/** Whose credentials a program has: the controller's, those of the add-on for `lifecycle.k8s.io`, or a cluster admin's. */
export type Account = 'controller' | 'lifecycle' | 'admin';

/** The cluster that all plans share. */
export interface PerturbationCluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly product: Product;
  /** As cluster admin. */
  readonly client: KubeClient;
  /** Everything that was there, and is. */
  readonly timeline: Timeline;
  /** Who wrote what, by the API server's audit log. */
  readonly writes: WriteLog;
  /** Opens a connection of its own. */
  connect(as: Account): KubeClient;
}

/**
 * Starts a control plane with the product's manifests and no program of the product. Its API server is that of Kubernetes 1.37,
 * which has both dialects.
 */
export async function startPerturbationCluster(): Promise<PerturbationCluster> {
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
  return {
    controlPlane,
    product,
    client,
    timeline,
    writes,
    connect,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
