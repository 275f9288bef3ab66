import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/port.ts';
import { type Program, startProgram, waitUntil } from '../control-plane/process.ts';
import { startContainerd } from './containerd.ts';

const run = promisify(execFile);

/** A real node: containerd and the kubelet. */
export interface TestNode extends AsyncDisposable {
  readonly name: string;
  readonly folder: string;
  readonly staticPodPath: string;
  /** The kubelet's own kubeconfig, identity system:node:NAME. */
  readonly kubeconfig: string;
  readonly runtimeEndpoint: string;
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
}

async function writeKubeletConfig(
  folder: string,
  caFile: string,
  endpoint: string,
  ports: readonly number[],
): Promise<string> {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: path.join(folder, 'manifests'),
    containerRuntimeEndpoint: endpoint,
    address: '127.0.0.1',
    port: ports[0],
    healthzPort: ports[1],
    cgroupDriver: 'cgroupfs',
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: caFile } },
    authorization: { mode: 'Webhook' },
    resolvConf: '',
    localStorageCapacityIsolation: false,
    evictionHard: {
      'memory.available': '1Mi',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    nodeStatusUpdateFrequency: '2s',
    volumePluginDir: path.join(folder, 'volume-plugins'),
    podLogsDir: path.join(folder, 'pod-logs'),
  };
  const file = path.join(folder, 'kubelet.yaml');
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** Starts a node and waits until the API server has it as Ready. */
export async function startNode(controlPlane: ControlPlane, name: string, signal: AbortSignal): Promise<TestNode> {
  const containerd = await startContainerd(signal);
  const folder = path.join(containerd.folder, 'kubelet');
  const staticPodPath = path.join(folder, 'manifests');
  await mkdir(staticPodPath, { recursive: true });
  const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${name}`, ['system:nodes']);
  const ports = await Promise.all([freePort(), freePort()]);
  const config = await writeKubeletConfig(folder, controlPlane.caFile, containerd.endpoint, ports);
  let kubelet: Program | undefined;

  const startKubelet = async (): Promise<void> => {
    kubelet = startProgram(
      [
        controlPlane.binaries.kubelet,
        `--config=${config}`,
        `--kubeconfig=${kubeconfig}`,
        `--root-dir=${path.join(folder, 'root')}`,
        `--cert-dir=${path.join(folder, 'pki')}`,
        `--hostname-override=${name}`,
        '--node-ip=127.0.0.1',
      ],
      path.join(folder, 'kubelet.log'),
    );
    const ready = async (): Promise<boolean> => {
      const condition = '{.status.conditions[?(@.type=="Ready")].status}';
      return (await controlPlane.kubectl(['get', 'node', name, '-o', `jsonpath=${condition}`])) === 'True';
    };
    await waitUntil(`node ${name} gets ready`, ready, { timeoutMs: 90_000, program: kubelet }, signal);
  };
  await startKubelet();

  return {
    name,
    folder,
    staticPodPath,
    kubeconfig,
    runtimeEndpoint: containerd.endpoint,
    startKubelet,
    stopKubelet: async () => {
      await kubelet?.stop();
    },
    [Symbol.asyncDispose]: async () => {
      await kubelet?.stop();
      const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
      for (const mount of mounts.filter((place) => place.startsWith(folder)))
        await run('umount', ['-l', mount]).catch(() => undefined);
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
      await containerd[Symbol.asyncDispose]();
    },
  };
}
