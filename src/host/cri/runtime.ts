/**
 * The container runtime over its CRI socket: lists the pods that run on this node, with or without an API server, and stops a
 * pod. Never starts or removes anything.
 */
import { describeError, NodemaintError } from '../../errors.ts';
import {
  type Answers,
  type Call,
  type Connection,
  createConnection,
  isNotFound,
  type WireContainer,
  type WireSandbox,
} from './connection.ts';
import { podsWithProcesses } from '../pod-cgroups.ts';

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

/** The runtime does not tell which pods live. */
export class SilentRuntimeError extends NodemaintError {
  /** The UIDs of the pods that have processes all the same, by their control groups; undefined where those do not tell it. */
  readonly withProcesses: Set<string> | undefined;

  constructor(cause: unknown, withProcesses: Set<string> | undefined) {
    super('RUNTIME_UNAVAILABLE', describeError(cause), { cause });
    this.withProcesses = withProcesses;
  }
}

/** Whether the runtime is silent and no pod has a process: then none of them runs. */
export function isSilentWithoutPods(error: unknown): boolean {
  return error instanceof SilentRuntimeError && error.withProcesses?.size === 0;
}

/** Every method throws NodemaintError RUNTIME_UNAVAILABLE, or the signal's reason when it is aborted. */
export interface ContainerRuntime {
  /** Takes at most 10 s. */
  version(signal: AbortSignal): Promise<{ readonly runtimeName: string; readonly runtimeVersion: string }>;
  /**
   * Lists the sandboxes that are ready or have a running container, without those that `stopPod` has stopped. Takes at most
   * 30 s. Throws a SilentRuntimeError.
   */
  livePods(signal: AbortSignal): Promise<readonly PodSandbox[]>;
  /**
   * Stops all containers of the pod at the same time, with a grace period of `graceSec`, then the sandbox. A container that
   * could not be stopped keeps its sandbox while it runs, because the stop of a sandbox kills what is left in it. A missing
   * sandbox counts as stopped. Takes at most `graceSec` + 40 s.
   */
  stopPod(sandboxId: string, graceSec: number, signal: AbortSignal): Promise<void>;
  /** The same, but stops the sandbox with what is left in it, whatever became of its containers. */
  stopPodByForce(sandboxId: string, graceSec: number, signal: AbortSignal): Promise<void>;
  /** Closes the connection. A later call opens a new one. */
  close(): void;
}

/** The runtime, and how long a call may take beside the time for which the runtime itself waits. */
interface Runtime {
  readonly connection: Connection;
  readonly callMs: number;
}

const CALL_MS = 10_000;
/** Set by the kubelet on each container (kuberuntime/labels.go, podTerminationGracePeriodLabel). */
const GRACE_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';

/**
 * The runtime behind `endpoint`, the path of a unix socket, with or without `unix://`. Does not connect yet. Only tests set
 * how long a call may take, and where the control groups are.
 *
 * @throws NodemaintError CONFIG_INVALID if the endpoint is something else.
 */
export function createContainerRuntime(endpoint: string, callMs = CALL_MS, groups?: string): ContainerRuntime {
  const runtime: Runtime = { connection: createConnection(parseEndpoint(endpoint)), callMs };
  /** Sandboxes whose stop the runtime has confirmed. */
  const stopped = new Set<string>();
  return {
    version: async (signal) =>
      await ask(runtime, { method: 'Version', request: {}, doing: 'ask for the version' }, signal),
    livePods: async (signal) => {
      const pods = await readLivePods(runtime, signal).catch(async (error: unknown) => {
        signal.throwIfAborted();
        throw new SilentRuntimeError(error, await podsWithProcesses(signal, groups));
      });
      const listed = new Set(pods.map(({ id }) => id));
      for (const id of stopped) if (!listed.has(id)) stopped.delete(id);
      // A runtime that cannot write to its disk lists a stopped container as running for ever.
      return pods.filter(({ id, ready }) => ready || !stopped.has(id));
    },
    stopPod: async (sandboxId, graceSec, signal) => {
      const failure = await stopContainers(runtime, sandboxId, graceSec, signal);
      if (failure !== undefined && (await listRunning(runtime, sandboxId, signal)).length > 0) throw failure;
      await stopSandbox(runtime, sandboxId, signal);
      stopped.add(sandboxId);
    },
    stopPodByForce: async (sandboxId, graceSec, signal) => {
      await stopContainers(runtime, sandboxId, graceSec, signal);
      await stopSandbox(runtime, sandboxId, signal);
      stopped.add(sandboxId);
    },
    close: () => {
      runtime.connection.close();
    },
  };
}

/** A call without its time limit, which is `callMs` and the time that the runtime itself waits. */
type Question<Method extends keyof Answers> = Omit<Call<Method>, 'timeoutMs'> & { readonly waitsMs?: number };

async function ask<Method extends keyof Answers>(
  { connection, callMs }: Runtime,
  { waitsMs = 0, ...question }: Question<Method>,
  signal: AbortSignal,
): Promise<Answers[Method]> {
  return await connection.call<Method>({ ...question, timeoutMs: callMs + waitsMs }, signal);
}

function parseEndpoint(endpoint: string): string {
  const path = /^(?:unix:(?:\/\/)?)?(\/.*)$/s.exec(endpoint)?.[1];
  if (path !== undefined) return `unix://${path}`;
  const fix = 'use one like unix:///run/containerd/containerd.sock';
  throw new NodemaintError('CONFIG_INVALID', `the container runtime endpoint ${endpoint} is no unix socket: ${fix}`);
}

async function readLivePods(runtime: Runtime, signal: AbortSignal): Promise<readonly PodSandbox[]> {
  // Containers first: a pod that starts between the two calls is then listed as a ready sandbox, so no pod is missed.
  const running = Map.groupBy(await listRunning(runtime, undefined, signal), ({ podSandboxId }) => podSandboxId);
  const list = async (filter: object): Promise<readonly WireSandbox[]> => {
    const request = { filter };
    return (await ask(runtime, { method: 'ListPodSandbox', request, doing: 'list the pods' }, signal)).items;
  };
  const listed = await list({ state: { state: 'SANDBOX_READY' } });
  const ready = listed.filter(({ state }) => state === 'SANDBOX_READY');
  const known = new Set(ready.map(({ id }) => id));
  const others = [...running.keys()].filter((id) => !known.has(id));
  const found = await Promise.all(others.map(async (id) => (await list({ id })).find((each) => each.id === id)));
  return [...ready, ...found.filter((each) => each !== undefined)].map((sandbox) =>
    toPodSandbox(sandbox, running.get(sandbox.id) ?? []),
  );
}

/**
 * Lists the containers that run or may run, of one sandbox or of all. A container that was created and not started is left
 * out: it has no process, and in a stopped sandbox it never starts, so its end would never come.
 */
async function listRunning(
  runtime: Runtime,
  podSandboxId: string | undefined,
  signal: AbortSignal,
): Promise<readonly WireContainer[]> {
  // What has ended is not asked for: there may be more of it than an answer can have.
  const lists = (['CONTAINER_RUNNING', 'CONTAINER_UNKNOWN'] as const).map(async (wanted) => {
    const request = { filter: { podSandboxId, state: { state: wanted } } };
    const doing = 'list the containers';
    const { containers } = await ask(runtime, { method: 'ListContainers', request, doing }, signal);
    return containers.filter(({ state }) => state === wanted);
  });
  return (await Promise.all(lists)).flat();
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

/** Stops the containers of the sandbox; returns the first failure, undefined where all have stopped. */
async function stopContainers(
  runtime: Runtime,
  sandboxId: string,
  graceSec: number,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const containers = await listRunning(runtime, sandboxId, signal);
  const timeout = Math.max(0, Math.ceil(graceSec));
  const stops = containers.map(async ({ id: containerId }) => {
    const doing = `stop the container ${containerId}`;
    const request = { containerId, timeout };
    try {
      await ask(runtime, { method: 'StopContainer', request, waitsMs: timeout * 1000, doing }, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof Error ? error : new Error(describeError(error));
    }
  });
  return (await Promise.all(stops)).find((failure) => failure !== undefined);
}

async function stopSandbox(runtime: Runtime, podSandboxId: string, signal: AbortSignal): Promise<void> {
  const doing = `stop the pod sandbox ${podSandboxId}`;
  try {
    await ask(runtime, { method: 'StopPodSandbox', request: { podSandboxId }, doing }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
