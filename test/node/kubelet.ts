import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../control-plane/port.ts';
import { hasPodsApi } from '../control-plane/releases.ts';

/** What a kubelet's configuration depends on. */
export interface KubeletSettings {
  readonly name: string;
  readonly folder: string;
  readonly staticPodPath: string;
  readonly caFile: string;
  readonly kubeconfig: string;
  readonly endpoint: string;
  /** A control group below which its pods have theirs; without one they have none of their own. */
  readonly cgroupRoot?: string | undefined;
}

/** A kubelet's configuration, with the ports of its API and of its health. */
export function configurationOf(settings: KubeletSettings, port: number, healthzPort: number): object {
  const { folder, staticPodPath, caFile, endpoint, cgroupRoot } = settings;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath,
    containerRuntimeEndpoint: endpoint,
    // On by default from Kubernetes 1.37 on: the kubelet tells of its pods on a socket. One that does not know it does not start.
    ...(hasPodsApi() ? { featureGates: { PodsAPI: true } } : {}),
    address: '127.0.0.1',
    port,
    healthzPort,
    cgroupDriver: 'cgroupfs',
    // Neither a cgroup tree of its own nor limits: the machine is shared with the tests, and may have cgroup v1 only.
    ...(cgroupRoot === undefined ? { cgroupsPerQOS: false } : { cgroupsPerQOS: true, cgroupRoot }),
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
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
    // The agent under test does the graceful shutdown.
    shutdownGracePeriod: '0s',
    shutdownGracePeriodCriticalPods: '0s',
    nodeStatusUpdateFrequency: '2s',
    volumePluginDir: path.join(folder, 'volume-plugins'),
    podLogsDir: path.join(folder, 'pod-logs'),
  };
}

/** A kubelet's flags, and where it says whether it is well. */
export interface KubeletPlan {
  readonly flags: readonly string[];
  readonly healthUrl: string;
}

/** Writes the kubelet's configuration. */
export async function prepareKubelet(settings: KubeletSettings): Promise<KubeletPlan> {
  const { folder, staticPodPath, kubeconfig, name } = settings;
  await mkdir(staticPodPath, { recursive: true });
  const config = path.join(folder, 'kubelet.yaml');
  const healthzPort = await freePort();
  await writeFile(config, JSON.stringify(configurationOf(settings, await freePort(), healthzPort), null, 2));
  const flags = [
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${path.join(folder, 'root')}`,
    `--cert-dir=${path.join(folder, 'pki')}`,
    `--hostname-override=${name}`,
    // It takes no loopback address as the node's, so the Node has none: better than to look its name up in a DNS.
    '--node-ip=127.0.0.1',
  ];
  return { flags, healthUrl: `http://127.0.0.1:${healthzPort}/healthz` };
}
