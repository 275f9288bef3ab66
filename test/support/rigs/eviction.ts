import { rm } from 'node:fs/promises';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { runController } from '../../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { type Clock, createSystemClock } from '../../../src/host/clock.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import type { Interceptor } from '../../../src/kube/eviction/interceptor.ts';
import { runInterceptor } from '../../../src/kube/eviction/interceptor-loop.ts';
import { EVICTION_REQUESTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import type { ControlPlane, ControlPlaneOptions } from '../../control-plane/control-plane.ts';
import { makeTestFolder } from '../folder.ts';
import { requestersPatch } from '../eviction/requesters.ts';
import { waitFor } from '../wait-for.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';

/** The Node without a kubelet on which the pods of these tests are: the test ends them when it wants. */
export const NODE = 'node-z';

/** A loop of the product that runs in the test's process. */
export interface Running {
  stop(): Promise<void>;
}

/** What time it is for a loop; nothing unless given. */
export interface LoopTime {
  /** So many milliseconds have passed for the loop and for its API server. */
  readonly passedMs?: number;
  /** So many milliseconds ahead of the API server is the clock of the loop's machine. */
  readonly wrongMs?: number;
}

/** Stops several loops at once. */
export async function stopAll(running: readonly Running[]): Promise<void> {
  await Promise.all(running.map((each) => each.stop()));
}

/** What the tests of EvictionRequests do, on a real API server. */
export interface EvictionRig extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly folder: string;
  readonly controllerKubeconfig: string;
  /** As cluster admin. */
  readonly client: KubeClient;
  startController(options?: Readonly<Record<string, unknown>>, time?: LoopTime): Promise<Running>;
  /** Plays an interceptor under a user of its own, who may only do what interceptors need. */
  startInterceptor(interceptor: Interceptor, time?: LoopTime): Promise<Running>;
  /** Makes a pod that stays until `endPod` once it is bound to NODE. */
  createPod(
    name: string,
    annotations?: Readonly<Record<string, string>>,
    extra?: object,
    namespace?: string,
  ): Promise<Pod>;
  getPod(name: string): Promise<Pod | undefined>;
  /** What a kubelet does at the end of a pod: takes the object away. */
  endPod(name: string): Promise<void>;
  /** Adds a requester entry to the request of the pod by server-side apply, and makes the request where there is none. */
  request(pod: Pod, requester: string): Promise<void>;
  /** Takes a requester entry back. */
  withdraw(pod: Pod, requester: string): Promise<void>;
  get(pod: Pod): Promise<EvictionRequest | undefined>;
  /** Waits until the request is as wanted, and returns it. */
  waitFor(
    pod: Pod,
    what: string,
    wanted: (request: EvictionRequest) => boolean,
    timeoutMs?: number,
  ): Promise<EvictionRequest>;
}

/** The annotation by which a pod names an interceptor. */
export function intercepts(name: string, priority: number): Record<string, string> {
  return { [`interceptor.evictionrequest.coordination.k8s.io/priority_${name}`]: `${priority}/controller` };
}

/** The condition of a type as "STATUS REASON: MESSAGE". */
export function conditionOf(request: EvictionRequest | undefined, type: string): string | undefined {
  const condition = request?.status?.conditions?.find((each) => each.type === type);
  return condition === undefined ? undefined : `${condition.status} ${condition.reason}: ${condition.message}`;
}

function clockAt({ passedMs = 0, wrongMs = 0 }: LoopTime): Clock {
  const clock = createSystemClock();
  return { ...clock, now: () => clock.now() + passedMs + wrongMs };
}

/** The client of an API server whose clock is ahead as well: it says the time in the header Date of each answer. */
function clientAt({ passedMs = 0 }: LoopTime, client: KubeClient): KubeClient {
  return {
    ...client,
    send: async (request, signal) => {
      const response = await client.send(request, signal);
      const { date = '' } = response.headers;
      const later = new Date(Date.parse(String(date)) + passedMs).toUTCString();
      return { ...response, headers: { ...response.headers, date: later } };
    },
  };
}

const ROLE = 'test-interceptor';
const INTERCEPTOR_ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: ROLE },
  rules: [
    { apiGroups: ['coordination.x-k8s.io'], resources: ['evictionrequests'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['coordination.x-k8s.io'], resources: ['evictionrequests/status'], verbs: ['patch'] },
    {
      apiGroups: ['coordination.x-k8s.io'],
      resources: ['interceptors'],
      resourceNames: ['deployment.apps.k8s.io', 'replicaset.apps.k8s.io'],
      verbs: ['intercept'],
    },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'delete'] },
  ],
};

/**
 * Starts a control plane with the product's manifests and a Node without a kubelet. `signal` also limits how long the API server
 * may be started again.
 */
export async function buildEvictionRig(
  options: ControlPlaneOptions = {},
  signal = AbortSignal.timeout(600_000),
): Promise<EvictionRig> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('eviction');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { controlPlane, controllerKubeconfig } = stack.use(await startInstalledCluster(options, signal));
  const apply = async (object: object): Promise<string> =>
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await apply(INTERCEPTOR_ROLE);
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'test');
  stack.defer(() => client.close());
  const never = new AbortController().signal;
  const owned = stack.move();

  /** Runs a loop in this process until it is stopped, with a client of its own. */
  const startLoop = async (
    kubeconfig: string,
    name: string,
    time: LoopTime,
    loop: (
      dependencies: Parameters<typeof runInterceptor>[2] & { readonly kubeconfig: string },
      signal: AbortSignal,
    ) => Promise<void>,
  ): Promise<Running> => {
    const own = createKubeClient(await loadClusterAccess(kubeconfig), name);
    const stopping = new AbortController();
    const log = createLog('error', name);
    const running = loop({ client: clientAt(time, own), clock: clockAt(time), log, kubeconfig }, stopping.signal);
    const stop = async (): Promise<void> => {
      stopping.abort();
      await running;
      own.close();
    };
    owned.defer(stop);
    return { stop };
  };

  const applyRequesters = async ({ metadata }: Pod, requester: string, names: readonly string[]): Promise<void> => {
    const { name, namespace = 'default', uid = '' } = metadata;
    await sendForObject(client, requestersPatch({ name, namespace, uid }, requester, names), [], never);
  };

  const get: EvictionRig['get'] = async ({ metadata }) => {
    const meta = { name: metadata.uid ?? '', namespace: metadata.namespace ?? 'default' };
    return await sendForObject(client, { method: 'GET', path: objectPath(EVICTION_REQUESTS, meta) }, [404], never);
  };
  const getPod: EvictionRig['getPod'] = async (name) =>
    await sendForObject(
      client,
      { method: 'GET', path: objectPath(PODS, { name, namespace: 'default' }) },
      [404],
      never,
    );

  return {
    controlPlane,
    folder,
    controllerKubeconfig,
    client,
    startController: (flags = {}, time = {}) => {
      const parsed = controllerOptionsSchema.parse(flags);
      return startLoop(controllerKubeconfig, 'controller', time, (dependencies, stop) =>
        runController({ ...dependencies, options: parsed }, stop),
      );
    },
    startInterceptor: async (interceptor, time = {}) => {
      const user = `user-of-${interceptor.name}`;
      const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE };
      const kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' };
      await apply({ ...kind, metadata: { name: user }, roleRef, subjects });
      const kubeconfig = await controlPlane.kubeconfigFor(user, []);
      return await startLoop(kubeconfig, interceptor.name, time, (dependencies, stop) =>
        runInterceptor(interceptor, {}, dependencies, stop),
      );
    },
    createPod: async (name, annotations = {}, extra = {}, namespace = 'default') => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels: { app: name }, annotations },
        spec: {
          nodeName: NODE,
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'main', image: 'none.invalid/none' }],
          ...extra,
        },
      };
      const made = await controlPlane.kubectl(['create', '-o', 'json', '-f', '-'], JSON.stringify(pod));
      return JSON.parse(made) as Pod;
    },
    getPod,
    endPod: async (name) => {
      await controlPlane.kubectl(['delete', 'pod', name, '--force', '--grace-period=0', '--ignore-not-found']);
    },
    request: (pod, requester) => applyRequesters(pod, requester, [requester]),
    withdraw: (pod, requester) => applyRequesters(pod, requester, []),
    get,
    waitFor: async (pod, what, wanted, timeoutMs = 15_000) => {
      let last: EvictionRequest | undefined;
      const ask = async (): Promise<boolean> => {
        last = await get(pod);
        return last !== undefined && wanted(last);
      };
      await waitFor(what, ask, { timeoutMs }).catch((error: unknown) => {
        throw new Error(`${what}: ${JSON.stringify(last?.status)}`, { cause: error });
      });
      if (last === undefined) throw new Error(what);
      return last;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
