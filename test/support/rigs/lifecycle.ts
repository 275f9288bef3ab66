import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Eviction, LifecycleRequest, ResponderStatus } from '../../../src/api/lifecycle.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { runController } from '../../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type KubeResponse } from '../../../src/kube/client.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../src/kube/lifecycle/resources.ts';
import { collectionPath, objectPath, PODS, type Resource, sendForObject } from '../../../src/kube/resource.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { startNodemaint, withoutDeployments } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { waitFor } from '../wait-for.ts';
import { createAuditLog, type EvictionCall, type Writes } from './lifecycle-audit.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** What makes an API server of Kubernetes 1.37 serve the group. */
export const LIFECYCLE_FLAGS = [
  '--feature-gates=EvictionRequestAPI=true,GenericWorkload=true',
  '--runtime-config=lifecycle.k8s.io/v1alpha1=true',
];
const [LIFECYCLE_MANIFESTS, CONTROLLER_MANIFESTS] = ['lifecycle', 'lifecycle-controllers'].map((folder) =>
  path.join(ROOT, 'manifests', folder),
) as [string, string];
const LIFECYCLE_ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-lifecycle';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];

/** A change of an Eviction or an EvictionRequest, as a test makes it. */
export type Body = Readonly<Record<string, unknown>>;

/** What the tests of `lifecycle.k8s.io` do, on an API server of Kubernetes 1.37. */
export interface LifecycleRig extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly folder: string;
  /** As cluster admin. */
  readonly client: KubeClient;
  /** Starts the controller of the product; the returned function stops it. */
  startController(flags?: Readonly<Record<string, unknown>>): Promise<() => Promise<void>>;
  /** The kubeconfig of the add-on with the controllers of the group. */
  readonly lifecycleKubeconfig: string;
  /** Starts this add-on; the returned function stops it. */
  startLifecycle(): Promise<() => Promise<void>>;
  createNamespace(name: string): Promise<void>;
  /** Sends as cluster admin, or as another user. Rejects where it is refused. */
  send<T extends KubeObject>(request: KubeRequest): Promise<T>;
  /** The same, whatever the answer is. */
  ask(request: KubeRequest): Promise<KubeResponse>;
  create<T extends KubeObject>(resource: Resource, namespace: string, body: Body): Promise<T>;
  get<T extends KubeObject>(resource: Resource, namespace: string, name: string): Promise<T | undefined>;
  patch<T extends KubeObject>(resource: Resource, of: KubeObject, body: Body, subresource?: string): Promise<T>;
  /** Puts an object into etcd as it is: the API server does not judge it. */
  store(key: string, object: object): Promise<void>;
  /** What a responder writes, by server-side apply with its own field manager. */
  respond(eviction: Eviction, entry: ResponderStatus): Promise<Eviction>;
  /** Waits until the object is as wanted, and returns it. */
  until<T extends KubeObject>(
    resource: Resource,
    of: KubeObject,
    what: string,
    wanted: (object: T) => boolean,
    timeoutMs?: number,
  ): Promise<T>;
  /** The writes of the product that the API server has seen. */
  writes(): Promise<Writes>;
  /** Its calls to the Eviction API so far. */
  evictionCalls(): Promise<readonly EvictionCall[]>;
}

/** Installs the manifests of the add-on with the controllers, without its Deployment; returns the kubeconfig of its account. */
export async function installControllers({
  kubectl,
  kubeconfigFor,
}: Pick<ControlPlane, 'kubectl' | 'kubeconfigFor'>): Promise<string> {
  const manifests = await kubectl(['kustomize', CONTROLLER_MANIFESTS]);
  await kubectl(['apply', '-f', '-'], withoutDeployments(manifests));
  return await kubeconfigFor(LIFECYCLE_ACCOUNT, GROUPS);
}

/** Installs the manifests for the group, and waits until the API server registers responders by them. */
export async function installLifecycle({ kubectl }: Pick<ControlPlane, 'kubectl'>): Promise<void> {
  await kubectl(['apply', '-k', LIFECYCLE_MANIFESTS]);
  const annotations = { 'kubernetes.io/config.mirror': 'x' };
  const mirror = podBody('mirror', { annotations, namespace: 'kube-system' }, { nodeName: 'n' });
  const create = ['create', '--dry-run=server', '-f', '-', '-o', 'jsonpath={.spec.evictionResponders[*].name}'];
  const isRegistered = async (): Promise<boolean> =>
    (await kubectl(create, JSON.stringify(mirror)).catch(() => '')).includes('n.static.nodemaintenance.x-k8s.io');
  await waitFor('responders of static pods are registered', isRegistered, { timeoutMs: 30_000 });
}

/** Starts a control plane whose API server serves `lifecycle.k8s.io`, with the product's manifests and `flags` of kube-apiserver. */
export async function buildLifecycleRig(flags: readonly string[] = []): Promise<LifecycleRig> {
  const signal = AbortSignal.timeout(120_000);
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('lifecycle');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const audit = await createAuditLog(folder);
  const { controlPlane, controllerKubeconfig: kubeconfig } = stack.use(
    await startInstalledCluster(
      {
        apiServerFlags: [...LIFECYCLE_FLAGS, ...audit.flags, ...flags],
      },
      signal,
    ),
  );
  await installLifecycle(controlPlane);
  const lifecycleKubeconfig = await installControllers(controlPlane);
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'test');
  stack.defer(() => {
    client.close();
  });
  const never = new AbortController().signal;
  const owned = stack.move();
  const send: LifecycleRig['send'] = async <T>(request: KubeRequest) =>
    (await sendForObject<T>(client, request, [], never)) as T;
  const get: LifecycleRig['get'] = async (resource, namespace, name) =>
    await sendForObject(client, { method: 'GET', path: objectPath(resource, { name, namespace }) }, [404], never);
  return {
    controlPlane,
    folder,
    client,
    send,
    ask: (request) => client.send(request, never),
    startController: async (changes = {}) => {
      const own = createKubeClient(await loadClusterAccess(kubeconfig), 'controller');
      const stopping = new AbortController();
      const options = controllerOptionsSchema.parse({ lifecycleApi: 'on', leaderElect: 'false', ...changes });
      const dependencies = { client: own, clock: createSystemClock(), log: createLog('error', 'controller'), options };
      const running = runController(dependencies, stopping.signal);
      const stop = async (): Promise<void> => {
        stopping.abort();
        await running;
        own.close();
      };
      owned.defer(stop);
      return stop;
    },
    lifecycleKubeconfig,
    startLifecycle: () => {
      const flags = ['lifecycle', '--kubeconfig', lifecycleKubeconfig];
      const program = startNodemaint(flags, path.join(controlPlane.logs, 'lifecycle.log'));
      owned.use(program);
      return Promise.resolve(() => program.stop());
    },
    createNamespace: async (name) => {
      await controlPlane.kubectl(['create', 'namespace', name]);
      const hasAccount = async (): Promise<boolean> =>
        (await controlPlane.kubectl(['get', 'serviceaccount', 'default', '-n', name])) !== '';
      await waitFor(`the namespace ${name} can have pods`, hasAccount);
    },
    create: (resource, namespace, body) => send({ method: 'POST', path: collectionPath(resource, namespace), body }),
    get,
    patch: (resource, { metadata }, body, subresource) =>
      send({ method: 'PATCH', path: objectPath(resource, metadata, subresource), body, patch: { kind: 'merge' } }),
    respond: ({ metadata: { name, namespace } }, entry) =>
      send({
        method: 'PATCH',
        path: objectPath(EVICTIONS, { name, ...(namespace === undefined ? {} : { namespace }) }, 'status'),
        body: {
          apiVersion: 'lifecycle.k8s.io/v1alpha1',
          kind: 'Eviction',
          metadata: { name, namespace },
          status: { responders: [entry] },
        },
        patch: { kind: 'apply', manager: entry.name.split('/')[0] ?? '' },
      }),
    until: async <T extends KubeObject>(
      resource: Resource,
      { metadata }: KubeObject,
      what: string,
      wanted: (object: T) => boolean,
      timeoutMs = 5_000,
    ) => {
      let last: T | undefined;
      const isWanted = async (): Promise<boolean> => {
        last = await get<T>(resource, metadata.namespace ?? '', metadata.name);
        return last !== undefined && wanted(last);
      };
      await waitFor(what, isWanted, { timeoutMs }).catch((error: unknown) => {
        throw new Error(`${what}: ${JSON.stringify(last)}`, { cause: error });
      });
      if (last === undefined) throw new Error(what);
      return last;
    },
    store: async (key, object) => {
      const inBase64 = (text: string): string => Buffer.from(text).toString('base64');
      const body = JSON.stringify({ key: inBase64(key), value: inBase64(JSON.stringify(object)) });
      const answer = await fetch(`${controlPlane.etcdUrl}/v3/kv/put`, { method: 'POST', body });
      if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
    },
    writes: audit.writes,
    evictionCalls: audit.evictions,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The condition of a type as "STATUS REASON: MESSAGE". */
export function said(object: Eviction | LifecycleRequest, type: string): string {
  const found = object.status?.conditions?.find((each) => each.type === type);
  return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
}

/** A pod of a test, as an API server takes it. */
export function podBody(name: string, metadata: object = {}, spec: object = {}): Body {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'test-container', image: 'busybox' }], ...spec },
  };
}

/** Makes a pod that runs, as a kubelet would say. */
export async function createRunningPod(rig: LifecycleRig, namespace: string, body: Body): Promise<Pod> {
  const pod = await rig.create<Pod>(PODS, namespace, body);
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: pod.metadata.creationTimestamp }];
  return await rig.patch(PODS, pod, { status: { phase: 'Running', conditions } }, 'status');
}

/** The wish of a requester for a pod. */
export function requestBody({ metadata: { name, uid } }: Pod, requester = 'foo.example.com/1'): Body {
  return {
    apiVersion: 'lifecycle.k8s.io/v1alpha1',
    kind: 'EvictionRequest',
    metadata: { generateName: 'foo-' },
    spec: { target: { pod: { name, uid } }, requester, intent: 'Eviction' },
  };
}

export { EVICTIONS, LIFECYCLE_REQUESTS, PODS };
