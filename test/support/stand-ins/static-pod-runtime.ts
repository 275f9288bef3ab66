/** A kubelet and a container runtime in one: it runs the static pods of a folder, without processes, and shows them over CRI. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import { fromJSON, type ServiceDefinition } from '@grpc/proto-loader';
import { describeRuntimeV1 } from '../../../src/host/cri/proto.ts';
import { readManifests } from '../../../src/static-pods/directory.ts';
import type { Manifest } from '../../../src/static-pods/manifest/manifest.ts';

/** A pod with one container. */
export interface RuntimePod {
  readonly manifest: Manifest;
  readonly id: string;
  readonly containerId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  state(): 'running' | 'stopping' | 'ended';
  /** SIGTERM, and SIGKILL `graceSec` seconds later; resolves when it has ended. A second call can only shorten the time. */
  stop(graceSec: number): Promise<void>;
}

/** How long a pod takes to end, in seconds. */
export const STOP_SECONDS_ANNOTATION = 'test.nodemaint/stop-seconds';
const STOP_SECONDS = 1.5;
const POLL_MS = 100;

interface Request {
  readonly filter?: {
    readonly id?: string;
    readonly podSandboxId?: string;
    readonly state?: { readonly state: string };
  };
  readonly podSandboxId?: string;
  readonly containerId?: string;
  readonly timeout?: number;
}

function sandboxOf({ manifest, id, createdAt, state }: RuntimePod) {
  const { podName: name, namespace, labels, annotations, sha256: uid } = manifest;
  return {
    id,
    metadata: { name, uid, namespace, attempt: 0 },
    state: state() === 'ended' ? 'SANDBOX_NOTREADY' : 'SANDBOX_READY',
    createdAt: createdAt * 1e6,
    labels,
    annotations: { ...annotations, 'kubernetes.io/config.hash': uid, 'kubernetes.io/config.source': 'file' },
  };
}

function containerOf({ id, containerId, state }: RuntimePod) {
  return { id: containerId, podSandboxId: id, state: state() === 'ended' ? 'CONTAINER_EXITED' : 'CONTAINER_RUNNING' };
}

/** An absent or empty filter matches everything. */
function matches(wanted: string | undefined, actual: string): boolean {
  return wanted === undefined || wanted === '' || wanted === actual;
}

/** What each method answers. */
const METHODS: Readonly<Record<string, (pods: readonly RuntimePod[], request: Request) => object | Promise<object>>> = {
  Version: () => ({ version: '0.1.0', runtimeName: 'test', runtimeVersion: '1', runtimeApiVersion: 'v1' }),
  ListPodSandbox: (pods, { filter }) => ({
    items: pods.map(sandboxOf).filter(({ state }) => matches(filter?.state?.state, state)),
  }),
  ListContainers: (pods, { filter }) => ({
    containers: pods
      .map(containerOf)
      .filter((each) => matches(filter?.podSandboxId, each.podSandboxId) && matches(filter?.state?.state, each.state)),
  }),
  StopContainer: async (pods, { containerId, timeout = 0 }) => {
    await pods.find((pod) => pod.containerId === containerId)?.stop(timeout);
    return {};
  },
  StopPodSandbox: async (pods, { podSandboxId }) => {
    await pods.find((pod) => pod.id === podSandboxId)?.stop(0);
    return {};
  },
};

/** Listens on `socketPath` until it is disposed. `pods` returns all pods, also those that have ended. */
export async function serveCri(socketPath: string, pods: () => readonly RuntimePod[]): Promise<AsyncDisposable> {
  const definitions = fromJSON(describeRuntimeV1(), { longs: Number, enums: String });
  const handlers = Object.entries(METHODS).map(([name, answer]) => {
    const handle = (call: grpc.ServerUnaryCall<Request, object>, reply: grpc.sendUnaryData<object>): void => {
      Promise.resolve(answer(pods(), call.request)).then(
        (found) => reply(null, found),
        (error: unknown) => reply({ code: grpc.status.UNKNOWN, details: String(error) }),
      );
    };
    return [name, handle] as const;
  });
  const server = new grpc.Server();
  server.addService(definitions['runtime.v1.RuntimeService'] as ServiceDefinition, Object.fromEntries(handlers));
  await rm(socketPath, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.bindAsync(`unix://${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error === null) resolve();
    else reject(error);
  });
  await promise;
  return {
    [Symbol.asyncDispose]: async () => {
      server.forceShutdown();
      await rm(socketPath, { force: true });
    },
  };
}

/** Starts the pod of a manifest, which takes so long to end: nothing but an entry in the list of the runtime. */
export function startPod(manifest: Manifest, endsAfterMs: number): RuntimePod {
  let state: ReturnType<RuntimePod['state']> = 'running';
  const ended = Promise.withResolvers<void>();
  const endIn = (ms: number): void => {
    const end = (): void => {
      state = 'ended';
      ended.resolve();
    };
    // A test does not wait for pods that nobody looks at any more.
    if (ms !== Infinity) setTimeout(end, ms).unref();
  };
  return {
    manifest,
    id: randomUUID(),
    containerId: randomUUID(),
    createdAt: Date.now(),
    state: () => state,
    stop: async (graceSec) => {
      if (state === 'running') endIn(endsAfterMs);
      if (state === 'running') state = 'stopping';
      endIn(graceSec * 1_000);
      await ended.promise;
    },
  };
}

/** Disposing it closes the socket; nothing runs after that. */
export interface StaticPodRuntime extends AsyncDisposable {
  pods(): readonly RuntimePod[];
}

function stopMsOf({ annotations }: Manifest): number {
  return Number(annotations[STOP_SECONDS_ANNOTATION] ?? STOP_SECONDS) * 1_000;
}

interface Folder {
  readonly staticPodPath: string;
  readonly socketPath: string;
  readonly nodeName: string;
}

/** Starts the pods of the folder, and serves them until it is disposed or `signal` is aborted. */
export async function startStaticPodRuntime(folder: Folder, signal: AbortSignal): Promise<StaticPodRuntime> {
  const { staticPodPath, socketPath, nodeName } = folder;
  const stop = new AbortController();
  const ending = AbortSignal.any([signal, stop.signal]);
  let pods: readonly RuntimePod[] = [];
  const sync = async (): Promise<void> => {
    const { manifests } = await readManifests(staticPodPath, nodeName, ending).catch(() => ({ manifests: [] }));
    for (const pod of pods) {
      const { file, sha256, graceSec } = pod.manifest;
      const isWanted = manifests.some((each) => each.file === file && each.sha256 === sha256);
      if (!isWanted && pod.state() === 'running') pod.stop(graceSec).catch(() => undefined);
    }
    const alive = pods.filter((pod) => pod.state() !== 'ended');
    const missing = manifests.filter(({ podName }) => !alive.some(({ manifest }) => manifest.podName === podName));
    pods = [...alive, ...missing.map((manifest) => startPod(manifest, stopMsOf(manifest)))];
  };
  await sync();
  const server = await serveCri(socketPath, () => pods);
  const run = async (): Promise<void> => {
    while (!ending.aborted) {
      await delay(POLL_MS);
      await sync();
    }
  };
  const loop = run();
  return {
    pods: () => pods,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await loop;
      await server[Symbol.asyncDispose]();
    },
  };
}
