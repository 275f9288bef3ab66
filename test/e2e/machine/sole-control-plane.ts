import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { createAuthority, writeKubeconfig } from '../../control-plane/certificates.ts';
import { apiServerFlags, etcdFlags, managerFlags, runKubectl } from '../../control-plane/components.ts';
import { TEST_IMAGE } from '../../node/images.ts';
import { kubernetesServiceUnits } from '../../node/kubernetes-service.ts';
import { startKubelet } from './kube-node.ts';
import type { Machine } from './machine.ts';

/** The machine's own address, at which its API server listens. */
const OWN_ADDRESS = '10.0.2.15';
export const PORT = 6443;
const PKI = '/etc/kubernetes/pki';
const ADMIN = '/etc/kubernetes/admin.conf';
/** As kubeadm has it. */
const CRITICAL = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 };

const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
type Component = (typeof COMPONENTS)[number];

const PATHS: readonly (readonly [string, string])[] = [
  ['bin', '/usr/local/bin'],
  ['lib', '/lib'],
  ['lib64', '/lib64'],
  ['kubernetes', '/etc/kubernetes'],
  ['etcd', '/var/lib/etcd'],
];

/** While kube-apiserver starts, which takes minutes in software, what needs it ends and is started again. */
const BACK_OFF = { crashLoopBackOff: { maxContainerRestartPeriod: '10s' } };
/** In software, Go's garbage collection takes a third of a start: it begins where this much memory is in use. */
const MEMORY: Readonly<Record<Component, string>> = {
  etcd: '256MiB',
  'kube-apiserver': '900MiB',
  'kube-controller-manager': '300MiB',
  'kube-scheduler': '200MiB',
};

/** The manifest of a component, laid out as kubeadm does it; its program and the C library come from the machine's disk. */
function manifestOf(name: Component, flags: readonly string[]): string {
  const container = {
    name,
    image: TEST_IMAGE,
    imagePullPolicy: 'Never',
    command: [`/usr/local/bin/${name}`, ...flags],
    env: [
      { name: 'GOGC', value: 'off' },
      { name: 'GOMEMLIMIT', value: MEMORY[name] },
    ],
    volumeMounts: PATHS.map(([volume, mountPath]) => ({ name: volume, mountPath })),
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system', labels: { component: name, tier: 'control-plane' } },
    spec: {
      hostNetwork: true,
      ...CRITICAL,
      containers: [container],
      volumes: PATHS.map(([volume, place]) => ({ name: volume, hostPath: { path: place, type: 'DirectoryOrCreate' } })),
    },
  };
  return JSON.stringify(pod, null, 1);
}

/** A machine that is a whole cluster by itself. */
export interface SoleControlPlane {
  /** Runs the real kubectl as cluster admin, on the host; fails with what it printed. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
}

/** Where the kubectl of the host reaches the API server, and its kubeconfig is kept. */
export interface HostAccess {
  readonly port: number;
  readonly folder: string;
}

/** Makes the machine a cluster of one node, whose control plane are static pods, as kubeadm would. */
export async function becomeControlPlane(
  machine: Machine,
  name: string,
  access: HostAccess,
  signal: AbortSignal,
): Promise<SoleControlPlane> {
  const binaries = await controlPlaneBinaries(signal);
  const hostConfig = path.join(access.folder, 'admin.conf');
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-sole-'));
  try {
    const { ca, client, server } = await createAuthority(folder);
    const url = `https://${OWN_ADDRESS}:${PORT}`;
    const serving = await server('kube-apiserver', [`IP:${OWN_ADDRESS}`, 'IP:127.0.0.1', 'IP:10.96.0.1']);
    const accounts = await client('accounts', 'service-accounts', []);
    const kubeconfig = async (file: string, user: string, groups: readonly string[]): Promise<string> =>
      await writeKubeconfig(path.join(folder, file), url, ca.cert, await client(file, user, groups));
    const settings = {
      etcdUrl: 'http://127.0.0.1:2379',
      bindAddress: '0.0.0.0',
      port: PORT,
      serving: { cert: `${PKI}/serving.crt`, key: `${PKI}/serving.key` },
      caFile: `${PKI}/ca.crt`,
      accountsKey: `${PKI}/accounts.key`,
    };
    const durable = etcdFlags('/var/lib/etcd', settings.etcdUrl, 'http://127.0.0.1:2380').filter(
      (flag) => flag !== '--unsafe-no-fsync',
    );
    const manager = [
      ...managerFlags('/etc/kubernetes/manager.conf', 10_257),
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${PKI}/accounts.key`,
      `--root-ca-file=${PKI}/ca.crt`,
      '--flex-volume-plugin-dir=/tmp/volume-plugins',
    ];
    const flags: Readonly<Record<Component, readonly string[]>> = {
      etcd: durable,
      // It calls the webhook at its pods, for there is no kube-proxy for the Service's address.
      'kube-apiserver': [...apiServerFlags(settings), '--enable-aggregator-routing=true'],
      'kube-controller-manager': manager,
      'kube-scheduler': managerFlags('/etc/kubernetes/scheduler.conf', 10_259),
    };
    const manifests: Record<string, string> = {};
    for (const component of COMPONENTS) {
      const file = path.join(folder, `${component}.yaml`);
      await writeFile(file, manifestOf(component, flags[component]));
      manifests[`/root/manifests/${component}.yaml`] = file;
    }
    await machine.must(`mkdir -p ${PKI} /root/manifests`);
    await machine.copy({
      ...Object.fromEntries(COMPONENTS.map((component) => [`/usr/local/bin/${component}`, binaries[component]])),
      ...manifests,
      '/usr/local/bin/kubectl': binaries.kubectl,
      [`${PKI}/ca.crt`]: ca.cert,
      [`${PKI}/serving.crt`]: serving.cert,
      [`${PKI}/serving.key`]: serving.key,
      [`${PKI}/accounts.key`]: accounts.key,
      [ADMIN]: await kubeconfig('admin.conf', 'admin', ['system:masters']),
      '/etc/kubernetes/manager.conf': await kubeconfig('manager.conf', 'system:kube-controller-manager', []),
      '/etc/kubernetes/scheduler.conf': await kubeconfig('scheduler.conf', 'system:kube-scheduler', []),
    });
    const onHost = `https://127.0.0.1:${access.port}`;
    await writeKubeconfig(hostConfig, onHost, ca.cert, await client('host', 'admin', ['system:masters']));
    const kubelet = await kubeconfig('kubelet.conf', `system:node:${name}`, ['system:nodes']);
    await startKubelet(machine, {
      kubelet: binaries.kubelet,
      name,
      cluster: { kubeconfig: kubelet, caFile: ca.cert },
      settings: BACK_OFF,
    });
    for (const [unit, text] of Object.entries(kubernetesServiceUnits(`127.0.0.1:${PORT}`)))
      await machine.must(`cat > /etc/systemd/system/${unit}`, { input: text });
    await machine.must('systemctl daemon-reload && systemctl enable --now kubernetes-service.socket');
    await machine.must('mv /root/manifests/*.yaml /etc/kubernetes/manifests/');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return {
    kubectl: (args, input) => runKubectl(binaries.kubectl, hostConfig, ['--request-timeout=60s', ...args], input),
  };
}
