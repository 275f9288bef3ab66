/**
 * The container runtime over its CRI socket: lists the pods that run on this node, with or without an API server, and stops a
 * pod. Never starts or removes anything.
 */
import { NodemaintError } from '../../errors.ts';
import { type Connection, createConnection, isNotFound, type WireContainer, type WireSandbox } from './connection.ts';

/** A pod of the container runtime. */
export interface PodSandbox {
  readonly id: string;
  readonly namespace: string;
  readonly podName: string;
  /** The kubelet's UID of the pod. For a static pod it differs from the UID of the mirror pod. */
  readonly podUid: string;
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The number of containers that run, or whose state the runtime does not know. */
  readonly runningContainers: number;
  /** The pod's grace period in seconds, from the kubelet's annotation on a running container; absent if there is none. */
  readonly graceSec?: number;
}

/** Every method throws NodemaintError RUNTIME_UNAVAILABLE, or the signal's reason when it is aborted. */
export interface ContainerRuntime {
  /** Takes at most 10 s. */
  version(signal: AbortSignal): Promise<{ readonly runtimeName: string; readonly runtimeVersion: string }>;
  /**
   * Lists the sandboxes that are ready or have a running container, without those that `stopPod` has stopped. Takes at most
   * 20 s.
   */
  livePods(signal: AbortSignal): Promise<readonly PodSandbox[]>;
  /**
   * Stops all containers of the pod at the same time, with a grace period of `graceSec`, then the sandbox with what is left
   * in it. A missing sandbox counts as stopped. Takes at most `graceSec` + 30 s.
   */
  stopPod(sandboxId: string, graceSec: number, signal: AbortSignal): Promise<void>;
  /** Closes the connection. A later call opens a new one. */
  close(): void;
}

const TIMEOUT_MS = 10_000;
/** Set by the kubelet on each container (kuberuntime/labels.go, podTerminationGracePeriodLabel). */
const GRACE_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';

/**
 * The runtime behind `endpoint`, the path of a unix socket, with or without `unix://`. Does not connect yet.
 *
 * @throws NodemaintError CONFIG_INVALID if the endpoint is something else.
 */
export function createContainerRuntime(endpoint: string): ContainerRuntime {
  const connection = createConnection(parseEndpoint(endpoint));
  /** Sandboxes whose stop the runtime has confirmed. */
  const stopped = new Set<string>();
  return {
    version: async (signal) => {
      const doing = 'ask for the version';
      return await connection.call({ method: 'Version', request: {}, timeoutMs: TIMEOUT_MS, doing }, signal);
    },
    livePods: async (signal) => {
      const pods = await readLivePods(connection, signal);
      const listed = new Set(pods.map(({ id }) => id));
      for (const id of stopped) if (!listed.has(id)) stopped.delete(id);
      // A runtime that cannot write to its disk lists a stopped container as running for ever.
      return pods.filter(({ id, ready }) => ready || !stopped.has(id));
    },
    stopPod: async (sandboxId, graceSec, signal) => {
      await stopPod(connection, sandboxId, graceSec, signal);
      stopped.add(sandboxId);
    },
    close: () => {
      connection.close();
    },
  };
}

function parseEndpoint(endpoint: string): string {
  const path = /^(?:unix:(?:\/\/)?)?(\/.*)$/s.exec(endpoint)?.[1];
  if (path !== undefined) return `unix://${path}`;
  const fix = 'use one like unix:///run/containerd/containerd.sock';
  throw new NodemaintError('CONFIG_INVALID', `the container runtime endpoint ${endpoint} is no unix socket: ${fix}`);
}

async function readLivePods(connection: Connection, signal: AbortSignal): Promise<readonly PodSandbox[]> {
  // Containers first: a pod that starts between the two calls is then listed as a ready sandbox, so no pod is missed.
  const running = Map.groupBy(await listRunning(connection, undefined, signal), ({ podSandboxId }) => podSandboxId);
  const doing = 'list the pods';
  const { items } = await connection.call(
    { method: 'ListPodSandbox', request: {}, timeoutMs: TIMEOUT_MS, doing },
    signal,
  );
  return items
    .map((sandbox) => toPodSandbox(sandbox, running.get(sandbox.id) ?? []))
    .filter((pod) => pod.ready || pod.runningContainers > 0);
}

/**
 * Lists the containers that run or may run, of one sandbox or of all. A container that was created and not started is left
 * out: it has no process, and in a stopped sandbox it never starts, so its end would never come.
 */
async function listRunning(
  connection: Connection,
  podSandboxId: string | undefined,
  signal: AbortSignal,
): Promise<readonly WireContainer[]> {
  const request = podSandboxId === undefined ? {} : { filter: { podSandboxId } };
  const doing = 'list the containers';
  const { containers } = await connection.call(
    { method: 'ListContainers', request, timeoutMs: TIMEOUT_MS, doing },
    signal,
  );
  return containers.filter(({ state }) => state === 'CONTAINER_RUNNING' || state === 'CONTAINER_UNKNOWN');
}

function graceSecOf(containers: readonly WireContainer[]): number | undefined {
  const noted = containers.map(({ annotations }) => Number.parseInt(annotations[GRACE_ANNOTATION] ?? '', 10));
  return noted.find((graceSec) => graceSec >= 0);
}

function toPodSandbox(sandbox: WireSandbox, running: readonly WireContainer[]): PodSandbox {
  const { id, metadata, state, createdAt, annotations, labels } = sandbox;
  const graceSec = graceSecOf(running);
  return {
    id,
    namespace: metadata?.namespace ?? '',
    podName: metadata?.name ?? '',
    podUid: metadata?.uid ?? '',
    ready: state === 'SANDBOX_READY',
    createdAt: Math.floor(createdAt / 1e6),
    annotations,
    labels,
    runningContainers: running.length,
    ...(graceSec === undefined ? {} : { graceSec }),
  };
}

async function stopPod(
  connection: Connection,
  sandboxId: string,
  graceSec: number,
  signal: AbortSignal,
): Promise<void> {
  const containers = await listRunning(connection, sandboxId, signal);
  const timeout = Math.max(0, Math.ceil(graceSec));
  // If a container cannot be stopped, the stop of the sandbox ends it.
  await Promise.allSettled(
    containers.map(async ({ id: containerId }) => {
      const doing = `stop the container ${containerId}`;
      const timeoutMs = timeout * 1000 + TIMEOUT_MS;
      await connection.call({ method: 'StopContainer', request: { containerId, timeout }, timeoutMs, doing }, signal);
    }),
  );
  const doing = `stop the pod sandbox ${sandboxId}`;
  const request = { podSandboxId: sandboxId };
  try {
    await connection.call({ method: 'StopPodSandbox', request, timeoutMs: TIMEOUT_MS, doing }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
