/** A cluster with everything that the cells need: they lie side by side in it, each in a namespace and on nodes of its own. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Eviction, LifecycleRequest } from '../../../src/api/lifecycle.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import { CONTROLLER_LEASE, readLease } from '../../../src/kube/lease.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../src/kube/lifecycle/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource.ts';
import { createTimeline, type Timeline } from '../../chaos/timeline.ts';
import { startNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { buildLifecycleRig, type LifecycleRig } from '../../support/rigs/lifecycle.ts';
import { type EvictionWebhook, startEvictionWebhook } from '../../support/stand-ins/eviction-webhook.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Dialect } from './cells.ts';
import { GROUP_API } from './objects.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const SURGE_ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-surge';
const SURGE_GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];
const LOOK_MS = 200;

/** What is there of the newer dialect. */
export interface Newer {
  readonly requests: readonly LifecycleRequest[];
  readonly evictions: readonly Eviction[];
}

/** What the cells share. */
export interface MatrixRig extends AsyncDisposable {
  readonly lifecycle: LifecycleRig;
  /** Everything that was there, and is. */
  readonly timeline: Timeline;
  readonly webhook: EvictionWebhook;
  /** What is there of the newer dialect, as of a moment ago. */
  newer(): Newer;
  apply(...objects: readonly object[]): Promise<void>;
  createNamespaces(names: readonly string[]): Promise<void>;
}

/** The leader and the replica that stands by. */
export interface Leaders {
  /** Stops the leader; the other one takes its place. */
  change(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts what works on Evictions of lifecycle.k8s.io while Kubernetes does not. */
async function startStandIn({ lifecycle }: MatrixRig): Promise<() => Promise<void>> {
  return await lifecycle.startLifecycle();
}

/** Starts what drains in this dialect: two replicas of the controller, and in the newer one who works on Evictions. */
export async function startLeaders(rig: MatrixRig, dialect: Dialect): Promise<Leaders> {
  const { lifecycle } = rig;
  const stopStandIn = dialect === 'newer' ? await startStandIn(rig) : undefined;
  const flags = { lifecycleApi: dialect === 'newer' ? 'on' : 'off', leaderElect: 'true' };
  const stopFirst = await lifecycle.startController(flags);
  const hasLeader = async (): Promise<boolean> => {
    const lease = await readLease(lifecycle.client, CONTROLLER_LEASE, new AbortController().signal);
    return (lease?.spec?.holderIdentity ?? '') !== '';
  };
  await waitFor('a controller leads', hasLeader);
  const stopSecond = await lifecycle.startController(flags);
  return {
    change: stopFirst,
    stop: async () => {
      await stopSecond();
      await stopFirst();
      await stopStandIn?.();
    },
  };
}

/** Starts `nodemaint surge` with its own account. */
async function startSurge({ controlPlane }: LifecycleRig, stack: AsyncDisposableStack): Promise<void> {
  const manifests = await controlPlane.kubectl(['kustomize', path.join(ROOT, 'manifests', 'surge')]);
  await controlPlane.kubectl(['apply', '-f', '-'], withoutDeployments(manifests));
  const kubeconfig = await controlPlane.kubeconfigFor(SURGE_ACCOUNT, SURGE_GROUPS);
  stack.use(startNodemaint(['surge', '--kubeconfig', kubeconfig], path.join(controlPlane.logs, 'surge.log')));
}

/** Reads what there is of the newer dialect, again and again. */
function followNewer(rig: LifecycleRig, stack: AsyncDisposableStack): () => Newer {
  let newer: Newer = { requests: [], evictions: [] };
  const list = async (resource: typeof EVICTIONS): Promise<readonly unknown[] | undefined> => {
    const { status, body } = await rig.ask({ method: 'GET', path: collectionPath(resource) });
    return status === 200 ? (body as { readonly items: readonly unknown[] }).items : undefined;
  };
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const requests = (await list(LIFECYCLE_REQUESTS)) ?? newer.requests;
      const evictions = (await list(EVICTIONS)) ?? newer.evictions;
      newer = { requests, evictions } as Newer;
      await sleep(LOOK_MS);
    }
  };
  const following = follow();
  stack.defer(async () => {
    stopping.abort();
    await following;
  });
  return () => newer;
}

/** An object of a kind that the cells have. */
interface AnyObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Makes the object, or changes it: starting kubectl for each of them would take most of the time. */
async function applyObject({ send }: LifecycleRig, object: AnyObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const resource = { root, plural: `${kind.toLowerCase()}s`, namespaced: metadata.namespace !== undefined };
  const path = objectPath(resource, metadata);
  await send({ method: 'PATCH', path, body: object, patch: { kind: 'apply', manager: 'matrix' } });
}

/** Whether the webhook is asked for this pod's eviction in the background. */
function isEvictedInBackground(pod: string): boolean {
  return pod.endsWith('-promise');
}

/** Starts the cluster, and everything in it but the controller. */
export async function buildMatrixRig(): Promise<MatrixRig> {
  await using stack = new AsyncDisposableStack();
  const lifecycle = stack.use(await buildLifecycleRig([`--runtime-config=${GROUP_API}=true`]));
  const { controlPlane, client } = lifecycle;
  const webhook = stack.use(await startEvictionWebhook(controlPlane, lifecycle.folder));
  webhook.decide = (pod) =>
    isEvictedInBackground(pod) ? { code: 429, message: 'Eviction triggered evacuation of the machine' } : undefined;
  await startSurge(lifecycle, stack);
  const stopping = new AbortController();
  const timeline = createTimeline(client);
  const recording = timeline.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await recording;
  });
  await waitFor('everything is recorded', () => timeline.synced());
  const newer = followNewer(lifecycle, stack);
  const owned = stack.move();
  const apply: MatrixRig['apply'] = async (...objects) => {
    for (const object of objects as readonly AnyObject[]) await applyObject(lifecycle, object);
  };
  return {
    lifecycle,
    timeline,
    webhook,
    newer,
    apply,
    createNamespaces: async (names) => {
      await apply(...names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
      const accounts = '/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault';
      const haveAccounts = async (): Promise<boolean> => {
        const { body } = await lifecycle.ask({ method: 'GET', path: accounts });
        const { items } = body as { readonly items: readonly KubeObject[] };
        const ready = new Set(items.map(({ metadata }) => metadata.namespace));
        return names.every((name) => ready.has(name));
      };
      await waitFor('the namespaces can have pods', haveAccounts);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
