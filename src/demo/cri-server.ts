/** The container runtime of the demo: serves its pods over CRI on a unix socket. */
import { rm } from 'node:fs/promises';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import type { DemoPod } from './pod-process.ts';

interface ListRequest {
  readonly filter?: {
    readonly id?: string;
    readonly podSandboxId?: string;
    readonly state?: { readonly state: string };
  };
}

interface StopRequest {
  readonly podSandboxId?: string;
  readonly containerId?: string;
  readonly timeout?: number;
}

type Handler = (call: ServerUnaryCall<ListRequest & StopRequest, object>, reply: sendUnaryData<object>) => void;

/**
 * Listens on `socketPath` until it is disposed. `pods` returns all pods, also those that have ended.
 *
 * @throws Error if the socket cannot be made.
 */
export async function serveDemoCri(socketPath: string, pods: () => readonly DemoPod[]): Promise<AsyncDisposable> {
  const grpc = await import('@grpc/grpc-js');
  const loader = await import('@grpc/proto-loader');
  const { describeRuntimeV1 } = await import('../host/cri/proto.ts');
  const description = describeRuntimeV1() as Parameters<typeof loader.fromJSON>[0];
  const definitions = loader.fromJSON(description, { longs: Number, enums: String });
  const server = new grpc.Server();
  server.addService(definitions['runtime.v1.RuntimeService'] as ServiceDefinition, handlers(pods));
  await rm(socketPath, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.bindAsync(`unix://${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error === null) resolve();
    else reject(new Error(`cannot serve the demo's container runtime on ${socketPath}`, { cause: error }));
  });
  await promise;
  return {
    [Symbol.asyncDispose]: async () => {
      server.forceShutdown();
      await rm(socketPath, { force: true });
    },
  };
}

function handlers(pods: () => readonly DemoPod[]): Record<string, Handler> {
  return {
    Version: (_call, reply) => {
      reply(null, { version: '0.1.0', runtimeName: 'demo', runtimeVersion: '1', runtimeApiVersion: 'v1' });
    },
    ListPodSandbox: ({ request: { filter } }, reply) => {
      const items = pods().map(toWireSandbox);
      reply(null, {
        items: items.filter(({ id, state }) => matches(filter?.id, id) && matches(filter?.state?.state, state)),
      });
    },
    ListContainers: ({ request: { filter } }, reply) => {
      const containers = pods().map(toWireContainer);
      reply(null, {
        containers: containers.filter(
          ({ id, podSandboxId, state }) =>
            matches(filter?.id, id) &&
            matches(filter?.podSandboxId, podSandboxId) &&
            matches(filter?.state?.state, state),
        ),
      });
    },
    StopContainer: ({ request: { containerId, timeout } }, reply) => {
      stopThen(
        pods().find((pod) => pod.containerId === containerId),
        timeout ?? 0,
        reply,
      );
    },
    StopPodSandbox: ({ request: { podSandboxId } }, reply) => {
      stopThen(
        pods().find((pod) => pod.id === podSandboxId),
        0,
        reply,
      );
    },
  };
}

/** An absent or empty filter matches everything. */
function matches(wanted: string | undefined, actual: string): boolean {
  return wanted === undefined || wanted === '' || wanted === actual;
}

function stopThen(pod: DemoPod | undefined, graceSec: number, reply: sendUnaryData<object>): void {
  (pod?.stop(graceSec) ?? Promise.resolve()).then(
    () => reply(null, {}),
    (error: unknown) => reply(error instanceof Error ? error : new Error(String(error))),
  );
}

function toWireSandbox(pod: DemoPod): { id: string; state: string } {
  const { manifest, id, uid, createdAt } = pod;
  const sandbox = {
    id,
    metadata: { name: manifest.podName, uid, namespace: manifest.namespace, attempt: 0 },
    state: pod.state() === 'ended' ? 'SANDBOX_NOTREADY' : 'SANDBOX_READY',
    createdAt: createdAt * 1e6,
    labels: { ...manifest.labels, ...kubeletLabels(pod) },
    annotations: {
      ...manifest.annotations,
      'kubernetes.io/config.hash': uid,
      'kubernetes.io/config.seen': new Date(createdAt).toISOString(),
      'kubernetes.io/config.source': 'file',
    },
  };
  return sandbox;
}

function toWireContainer(pod: DemoPod): { id: string; podSandboxId: string; state: string } {
  const container = {
    id: pod.containerId,
    podSandboxId: pod.id,
    metadata: { name: 'application', attempt: 0 },
    state: pod.state() === 'ended' ? 'CONTAINER_EXITED' : 'CONTAINER_RUNNING',
    createdAt: pod.createdAt * 1e6,
    labels: { ...kubeletLabels(pod), 'io.kubernetes.container.name': 'application' },
  };
  return container;
}

function kubeletLabels({ manifest, uid }: DemoPod): Record<string, string> {
  return {
    'io.kubernetes.pod.name': manifest.podName,
    'io.kubernetes.pod.namespace': manifest.namespace,
    'io.kubernetes.pod.uid': uid,
  };
}
