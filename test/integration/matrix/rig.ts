/** A cluster with everything that the cells need: they lie side by side in it, each in a namespace and on nodes of its own. */
import { rm } from 'node:fs/promises';
import type { KubeObject } from '../../../src/api/meta.ts';
import { runController } from '../../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type KubeResponse } from '../../../src/kube/client.ts';
import { CONTROLLER_LEASE, readLease } from '../../../src/kube/lease.ts';
import { objectPath, type Resource, sendForObject } from '../../../src/kube/resource.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createTimeline, type Timeline } from '../../chaos/timeline.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { type EvictionWebhook, startEvictionWebhook } from '../../support/stand-ins/eviction-webhook.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createAuditLog, type EvictionCall } from './audit.ts';

/** What the cells share. */
export interface MatrixRig extends AsyncDisposable {
  /** Everything that was there, and is. */
  readonly timeline: Timeline;
  readonly webhook: EvictionWebhook;
  /** Sends as cluster admin. Rejects where it is refused. */
  send(request: KubeRequest): Promise<void>;
  /** The same, whatever the answer is. */
  ask(request: KubeRequest): Promise<KubeResponse>;
  patch(resource: Resource, of: KubeObject, body: object): Promise<void>;
  apply(...objects: readonly object[]): Promise<void>;
  createNamespaces(names: readonly string[]): Promise<void>;
  /** Starts a replica of the controller; the returned function stops it. */
  startController(): Promise<() => Promise<void>>;
  /** Whether a replica leads. */
  hasLeader(): Promise<boolean>;
  /** The calls of the controller to the Eviction API so far. */
  evictionCalls(): Promise<readonly EvictionCall[]>;
}

/** The leader and the replica that stands by. */
export interface Leaders {
  /** Stops the leader; the other one takes its place. */
  change(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts two replicas of the controller. */
export async function startLeaders(rig: MatrixRig): Promise<Leaders> {
  const stopFirst = await rig.startController();
  await waitFor('a controller leads', () => rig.hasLeader());
  const stopSecond = await rig.startController();
  return {
    change: stopFirst,
    stop: async () => {
      await stopSecond();
      await stopFirst();
    },
  };
}

/** An object of a kind that the cells have. */
interface AnyObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The request that makes the object, or changes it: starting kubectl for each of them would take most of the time. */
function applyRequest(object: AnyObject): KubeRequest {
  const { apiVersion, kind, metadata } = object;
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const resource = { root, plural: `${kind.toLowerCase()}s`, namespaced: metadata.namespace !== undefined };
  const path = objectPath(resource, metadata);
  return { method: 'PATCH', path, body: object, patch: { kind: 'apply', manager: 'matrix' } };
}

/** Whether the webhook is asked for this pod's eviction in the background. */
function isEvictedInBackground(pod: string): boolean {
  return pod.endsWith('-promise');
}

async function startReplica(kubeconfig: string): Promise<() => Promise<void>> {
  const client = createKubeClient(await loadClusterAccess(kubeconfig), 'controller');
  const stopping = new AbortController();
  const options = controllerOptionsSchema.parse({});
  const dependencies = { client, clock: createSystemClock(), log: createLog('error', 'controller'), options };
  const running = runController(dependencies, stopping.signal);
  return async () => {
    stopping.abort();
    await running;
    client.close();
  };
}

async function startRecording(client: KubeClient, stack: AsyncDisposableStack): Promise<Timeline> {
  const stopping = new AbortController();
  const timeline = createTimeline(client);
  const recording = timeline.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await recording;
  });
  await waitFor('everything is recorded', () => timeline.synced());
  return timeline;
}

/** Starts the cluster, and everything in it but the controller. */
export async function buildMatrixRig(): Promise<MatrixRig> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('matrix');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const audit = await createAuditLog(folder);
  const { controlPlane, controllerKubeconfig } = stack.use(
    await startInstalledCluster({ apiServerFlags: audit.flags }, AbortSignal.timeout(120_000)),
  );
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'test');
  stack.defer(() => {
    client.close();
  });
  const webhook = stack.use(await startEvictionWebhook(controlPlane, folder));
  webhook.decide = (pod) =>
    isEvictedInBackground(pod) ? { code: 429, message: 'Eviction triggered evacuation of the machine' } : undefined;
  const timeline = await startRecording(client, stack);
  const owned = stack.move();
  const never = new AbortController().signal;
  const send: MatrixRig['send'] = async (request) => {
    await sendForObject(client, request, [], never);
  };
  const ask: MatrixRig['ask'] = (request) => client.send(request, never);
  const apply: MatrixRig['apply'] = async (...objects) => {
    for (const object of objects as readonly AnyObject[]) await send(applyRequest(object));
  };
  return {
    timeline,
    webhook,
    send,
    ask,
    patch: (resource, { metadata }, body) =>
      send({ method: 'PATCH', path: objectPath(resource, metadata), body, patch: { kind: 'merge' } }),
    apply,
    createNamespaces: async (names) => {
      await apply(...names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
      const accounts = '/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault';
      const haveAccounts = async (): Promise<boolean> => {
        const { body } = await ask({ method: 'GET', path: accounts });
        const { items } = body as { readonly items: readonly KubeObject[] };
        const ready = new Set(items.map(({ metadata }) => metadata.namespace));
        return names.every((name) => ready.has(name));
      };
      await waitFor('the namespaces can have pods', haveAccounts);
    },
    startController: async () => {
      const stop = await startReplica(controllerKubeconfig);
      owned.defer(stop);
      return stop;
    },
    hasLeader: async () => ((await readLease(client, CONTROLLER_LEASE, never))?.spec?.holderIdentity ?? '') !== '',
    evictionCalls: audit.calls,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
