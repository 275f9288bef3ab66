import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildTestImage, TEST_IMAGE } from '../../node/images.ts';
import { writeNetwork } from '../../node/network.ts';
import type { Machine } from './machine.ts';

const KUBELET_UNIT = `[Unit]
After=containerd.service
Requires=containerd.service
[Service]
Environment=GOGC=off GOMEMLIMIT=200MiB
ExecStart=/usr/local/bin/kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf --hostname-override=NODE --node-ip=10.0.2.15
Restart=always
RestartSec=2s
[Install]
WantedBy=multi-user.target
`;

const CONTAINERD_CONFIG = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TEST_IMAGE}"
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/etc/cni/bin"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
`;

const KUBELET_CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  staticPodPath: '/etc/kubernetes/manifests',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  cgroupDriver: 'systemd',
  failSwapOn: false,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/ca.crt' },
  },
  resolvConf: '',
  evictionHard: {
    'memory.available': '1Mi',
    'nodefs.available': '0%',
    'nodefs.inodesFree': '0%',
    'imagefs.available': '0%',
  },
  nodeStatusUpdateFrequency: '5s',
  shutdownGracePeriod: '0s',
};

/** Without a cluster nobody can be asked who may do what. */
const STANDALONE = { authentication: { webhook: { enabled: false } }, authorization: { mode: 'AlwaysAllow' } };
const KUBECONFIG_FLAG = ' --kubeconfig=/etc/kubernetes/kubelet.conf';

/** What a machine needs to run the kubelet. */
export interface KubeletParts {
  readonly kubelet: string;
  readonly name: string;
  /** How it reaches its cluster; without one it runs static pods alone. */
  readonly cluster?: { readonly kubeconfig: string; readonly caFile: string };
  /** What its configuration has beside that of every machine. */
  readonly settings?: object;
}

/** Starts containerd and the real kubelet on the machine, with the tests' image. */
export async function startKubelet(
  machine: Machine,
  { kubelet, name, cluster, settings = {} }: KubeletParts,
): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-join-'));
  try {
    const write = async (file: string, text: string): Promise<string> => {
      await writeFile(path.join(folder, file), text);
      return path.join(folder, file);
    };
    await machine.must('mkdir -p /etc/kubernetes/manifests');
    await writeNetwork(path.join(folder, 'cni'));
    const config = { ...KUBELET_CONFIG, ...(cluster === undefined ? STANDALONE : {}), ...settings };
    const unit = cluster === undefined ? KUBELET_UNIT.replace(KUBECONFIG_FLAG, '') : KUBELET_UNIT;
    await machine.copy({
      '/usr/local/bin/kubelet': kubelet,
      ...(cluster === undefined
        ? {}
        : { '/etc/kubernetes/kubelet.conf': cluster.kubeconfig, '/etc/kubernetes/ca.crt': cluster.caFile }),
      '/etc/containerd/config.toml': await write('config.toml', CONTAINERD_CONFIG),
      '/etc/cni': path.join(folder, 'cni'),
      '/var/lib/kubelet/config.yaml': await write('kubelet.yaml', JSON.stringify(config)),
      '/etc/systemd/system/kubelet.service': await write('kubelet.service', unit.replace('NODE', name)),
      '/root/image.tar': await buildTestImage(folder),
    });
    await machine.must('chown root:root /etc/kubernetes/* && systemctl restart containerd', { timeoutMs: 240_000 });
    await machine.must('ctr -n k8s.io images import /root/image.tar', { timeoutMs: 300_000 });
    await machine.must('systemctl daemon-reload && systemctl enable --now kubelet', { timeoutMs: 240_000 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
