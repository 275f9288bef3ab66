/**
 * A whole node of a real control plane, without a virtual machine: Debian with its own systemd, logind and bus in a container,
 * and in it, as units, containerd and the real kubelet. It keeps its disk over a reboot.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/port.ts';
import { configOf } from '../node/containerd.ts';
import { buildTestImage } from '../node/images.ts';
import { configurationOf } from '../node/kubelet.ts';
import { kubernetesServiceUnits } from '../node/kubernetes-service.ts';
import { writeNetwork } from '../node/network.ts';
import { waitFor } from '../support/wait-for.ts';
import { SHARE, startOtherContainer, type SystemContainer } from './container.ts';

const run = promisify(execFile);

/** How such nodes reach the API server; its certificate must have this address, and it must listen there. */
export const HOST_FROM_NODES = '198.19.255.254';
/** The folder of its containerd. */
export const CONTAINERD = `${SHARE}/containerd`;
const KUBECONFIG = '/etc/kubernetes/kubelet.conf';
const CA_FILE = '/etc/kubernetes/ca.crt';
/** The socket of its containerd. */
export const SOCKET = `unix://${CONTAINERD}/containerd.sock`;
const READY = '{.status.conditions[?(@.type=="Ready")].status}';
const READY_MS = 240_000;
/** Its ctr. */
export const CTR = `ctr --address ${CONTAINERD}/containerd.sock --namespace k8s.io`;

/**
 * What a container lacks for a kubelet: values of these on which it insists, of which it gets copies, so that the machine
 * keeps its own; the kernel's messages; and controllers of cgroup v1 that systemd mounts together, and this machine alone.
 */
const TUNABLES = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];
export const PREPARE = `#!/bin/sh
set -e
rm -rf ${CONTAINERD}/state
ln -sf null /dev/kmsg
mkdir -p /run/tunables
for name in ${TUNABLES.join(' ')}; do
  copy=/run/tunables/$(echo $name | tr / .)
  cat /proc/sys/$name > $copy
  mount --bind $copy /proc/sys/$name
done
[ -d /sys/fs/cgroup/systemd ] || exit 0
mount -o remount,rw /sys/fs/cgroup
for name in cpu cpuacct cpuset; do
  mountpoint -q /sys/fs/cgroup/$name && continue
  rm -rf /sys/fs/cgroup/$name
  mkdir /sys/fs/cgroup/$name
  mount -t cgroup -o $name cgroup /sys/fs/cgroup/$name
done
`;

/** Units and drop-ins of every node, by the names of their files. */
export const UNITS: Readonly<Record<string, string>> = {
  'containerd.service.d/rig.conf': `[Service]
ExecStartPre=/usr/local/bin/prepare-node
ExecStart=
ExecStart=/usr/bin/containerd --config ${CONTAINERD}/config.toml
`,
  // The container boots this target, and not multi-user.target.
  'rig.target.d/node.conf': `[Unit]
Wants=kubernetes-service.socket containerd.service kubelet.service nodemaint.service
`,
};

/** A node in a container. */
export interface ClusterNode extends AsyncDisposable {
  readonly name: string;
  /** Its running system; another one after each boot. */
  system(): SystemContainer;
  /** Takes in the images of an archive. */
  importImage(archive: string): Promise<void>;
  /** Boots it again after its systemd has ended, and waits until it is Ready. */
  boot(): Promise<void>;
}

/** What a node is made of. */
export interface ClusterNodePlan {
  readonly controlPlane: ControlPlane;
  readonly name: string;
  /** Different for each node of a test, from 1 to 250. */
  readonly number: number;
  /** An empty folder, for its files. */
  readonly folder: string;
  /** The root folder of its system. */
  readonly root: string;
}

/**
 * Connects the container with this machine, and nothing else, and this machine with its pods. The connection is gone with the
 * container.
 */
export async function connect(container: SystemContainer, number: number): Promise<void> {
  const [outside, address] = [`nmnode${number}`, `198.19.0.${number}`];
  const pid = String(container.firstProcess());
  await run('ip', ['link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid]);
  await run('ip', ['address', 'add', `${HOST_FROM_NODES}/32`, 'dev', outside]);
  await run('ip', ['link', 'set', outside, 'up']);
  await run('ip', ['route', 'add', `${address}/32`, 'dev', outside]);
  await run('ip', ['route', 'add', `198.18.${number}.0/24`, 'via', address]);
  const steps = [
    'ip link set lo up',
    `ip address add ${address}/32 dev eth0`,
    'ip link set eth0 up',
    `ip route add ${HOST_FROM_NODES}/32 dev eth0`,
    `ip route add default via ${HOST_FROM_NODES}`,
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
  ];
  await container.must(steps.join(' && '));
}

/** Writes the files of containerd and the kubelet into the system's disk. */
async function furnish({ controlPlane, name, number, folder }: ClusterNodePlan): Promise<void> {
  const etc = path.join(folder, 'disk', 'changes', 'etc');
  const share = path.join(folder, 'share');
  await writeNetwork(path.join(share, 'containerd', 'cni'), number);
  await writeFile(path.join(share, 'containerd', 'config.toml'), configOf(CONTAINERD));
  await mkdir(path.join(etc, 'kubernetes', 'manifests'), { recursive: true });
  const server = `https://${HOST_FROM_NODES}:${controlPlane.port}`;
  const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${name}`, ['system:nodes'], server);
  await copyFile(kubeconfig, path.join(etc, 'kubernetes', 'kubelet.conf'));
  await copyFile(controlPlane.caFile, path.join(etc, 'kubernetes', 'ca.crt'));
  const staticPodPath = '/etc/kubernetes/manifests';
  const settings = {
    name,
    folder: '/var/lib/kubelet',
    staticPodPath,
    caFile: CA_FILE,
    kubeconfig: KUBECONFIG,
    endpoint: SOCKET,
  };
  const config = configurationOf(settings, await freePort(), await freePort());
  const bin = path.join(folder, 'disk', 'changes', 'usr', 'local', 'bin');
  await mkdir(bin, { recursive: true });
  await copyFile(controlPlane.binaries.kubelet, path.join(bin, 'kubelet'));
  await writeFile(path.join(bin, 'prepare-node'), PREPARE, { mode: 0o755 });
  const kubelet = `[Unit]
After=containerd.service
Requires=containerd.service
[Service]
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --kubeconfig=${KUBECONFIG} --hostname-override=${name} --node-ip=198.19.0.${number}
Restart=always
RestartSec=2s
`;
  await writeFile(path.join(etc, 'kubernetes', 'kubelet.yaml'), JSON.stringify(config));
  const service = kubernetesServiceUnits(`${HOST_FROM_NODES}:${controlPlane.port}`);
  for (const [unit, text] of Object.entries({ ...UNITS, ...service, 'kubelet.service': kubelet })) {
    await mkdir(path.dirname(path.join(etc, 'systemd', 'system', unit)), { recursive: true });
    await writeFile(path.join(etc, 'systemd', 'system', unit), text);
  }
  await mkdir(path.join(share, 'images'));
}

/** Starts a node and waits until the API server has it as Ready. */
export async function startClusterNode(plan: ClusterNodePlan, signal: AbortSignal): Promise<ClusterNode> {
  const { controlPlane, name, number, folder, root } = plan;
  const [disk, share] = [path.join(folder, 'disk'), path.join(folder, 'share')];
  await furnish(plan);
  let container: SystemContainer | undefined;
  const system = (): SystemContainer => {
    if (container === undefined) throw new Error(`${name} does not run`);
    return container;
  };
  const start = async (): Promise<void> => {
    await container?.[Symbol.asyncDispose]();
    container = await startOtherContainer({ root, share, disk }, signal);
    await connect(container, number);
  };
  const isReady = async (): Promise<boolean> =>
    (await controlPlane.kubectl(['get', 'node', name, '-o', `jsonpath=${READY}`])) === 'True';
  const untilReady = (): Promise<void> => waitFor(`node ${name} gets ready`, isReady, { timeoutMs: READY_MS, signal });
  const importImage = async (archive: string): Promise<void> => {
    const file = path.basename(archive);
    await copyFile(archive, path.join(share, 'images', file));
    await system().must(`${CTR} images import ${SHARE}/images/${file}`);
  };
  try {
    await start();
    await waitFor('containerd answers', async () => (await system().run(`${CTR} version`)).code === 0, { signal });
    await importImage(await buildTestImage(folder));
    await untilReady();
  } catch (error) {
    const said = await container?.run('journalctl -u containerd -u kubelet --no-pager -o cat | tail -n 40');
    await container?.[Symbol.asyncDispose]();
    throw new Error(said?.stdout ?? 'it did not boot', { cause: error });
  }
  return {
    name,
    system,
    importImage,
    boot: async () => {
      await start();
      await untilReady();
    },
    [Symbol.asyncDispose]: async () => await container?.[Symbol.asyncDispose](),
  };
}
