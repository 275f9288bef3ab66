import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type Program } from '../control-plane/process.ts';
import { makeTestFolder } from '../support/folder.ts';
import { removeContainerCgroups, startContainerd } from './containerd.ts';
import { prepareKubelet } from './kubelet.ts';
import { createNamespace } from './namespace.ts';
import { waitFor } from '../support/wait-for.ts';

/** A real node: containerd and the kubelet. */
export interface TestNode extends AsyncDisposable {
  readonly name: string;
  /** The kubelet's folder, with its configuration `kubelet.yaml` and its log `kubelet.log`. */
  readonly folder: string;
  /** The kubelet's root directory, with the pods' volumes. */
  readonly rootDir: string;
  readonly staticPodPath: string;
  /** The kubelet's own kubeconfig, identity system:node:NAME. */
  readonly kubeconfig: string;
  readonly criSocket: string;
  /** The socket as a CRI endpoint. */
  readonly runtimeEndpoint: string;
  /** Where the kubelet says whether it is well. */
  readonly healthUrl: string;
  /** Starts a program among the node's processes, as the agent of a real node is; files and sockets are the machine's. */
  start(command: readonly [string, ...string[]], logFile: string): Program;
  /** Takes in the images of an archive. */
  importImage(archive: string): Promise<void>;
  /** Stops the container runtime alone, for good; the containers go on. */
  stopRuntime(): Promise<void>;
  /** Stops the kubelet alone; the containers go on. */
  stopKubelet(): Promise<void>;
  /** Starts the kubelet and waits until it is well and, unless told, until the Node is Ready. */
  startKubelet(options?: KubeletStart): Promise<void>;
  restartKubelet(options?: KubeletStart): Promise<void>;
}

export interface KubeletStart {
  /** Whether to wait until the Node is Ready; not to be had without an API server. */
  readonly untilReady?: boolean;
}

const READY_MS = 90_000;

async function sizeOf(file: string): Promise<number> {
  return await stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Starts a node and waits until the API server has it as Ready. */
export async function startNode(
  controlPlane: ControlPlane,
  name: string,
  signal: AbortSignal,
  cgroupRoot?: string,
): Promise<TestNode> {
  await using stack = new AsyncDisposableStack();
  const base = await makeTestFolder('node');
  const containerdFolder = path.join(base, 'containerd');
  stack.defer(async () => {
    await removeContainerCgroups(containerdFolder);
    await rm(base, { recursive: true, force: true });
  });
  const namespace = stack.use(await createNamespace(base, signal));
  const containerd = stack.use(await startContainerd(containerdFolder, namespace, signal));
  const folder = path.join(base, 'kubelet');
  const staticPodPath = path.join(folder, 'manifests');
  const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${name}`, ['system:nodes']);
  const { endpoint, socket } = containerd;
  const { caFile } = controlPlane;
  const plan = await prepareKubelet({ name, folder, staticPodPath, caFile, kubeconfig, endpoint, cgroupRoot });

  let kubelet: Program | undefined;
  const logFile = path.join(folder, 'kubelet.log');
  const isReady = async (): Promise<boolean> => {
    const condition = '{.status.conditions[?(@.type=="Ready")].status}';
    return (await controlPlane.kubectl(['get', 'node', name, '-o', `jsonpath=${condition}`])) === 'True';
  };
  const stopKubelet = async (): Promise<void> => await kubelet?.stop();
  stack.defer(stopKubelet);
  const startKubelet = async ({ untilReady = true }: KubeletStart = {}): Promise<void> => {
    const logStart = await sizeOf(logFile);
    kubelet = namespace.start([controlPlane.binaries.kubelet, ...plan.flags], logFile);
    const options = { timeoutMs: READY_MS, program: kubelet };
    await waitFor('the kubelet is well', async () => (await fetch(plan.healthUrl)).ok, { ...options, signal });
    if (!untilReady) return;
    // Until then it does not see its mirror pods, and tells their state up to 10 s late.
    const isWatching = async (): Promise<boolean> =>
      (await readFile(logFile)).subarray(logStart).includes('"Watching apiserver"');
    await waitFor('the kubelet watches its pods', isWatching, { ...options, signal });
    await waitFor(`node ${name} gets ready`, isReady, { ...options, signal });
  };
  await startKubelet();

  const owned = stack.move();
  return {
    name,
    folder,
    rootDir: path.join(folder, 'root'),
    staticPodPath,
    kubeconfig,
    criSocket: socket,
    runtimeEndpoint: endpoint,
    healthUrl: plan.healthUrl,
    start: namespace.start,
    importImage: containerd.importImage,
    stopRuntime: containerd.stop,
    stopKubelet,
    startKubelet,
    restartKubelet: async (options) => {
      await stopKubelet();
      await startKubelet(options);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
