/**
 * A machine that kubeadm made a cluster of its own: Debian with its own systemd in a container, with the packages kubeadm,
 * kubelet and kubectl from a repository for apt, and in its containerd the images that kubeadm asks for. It keeps its disk
 * over a reboot.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AFTER, BEFORE, kubeadmPrograms } from '../../kubeadm/programs.ts';
import { configOf } from '../../node/containerd.ts';
import { buildTestImage } from '../../node/images.ts';
import { configurationOf } from '../../node/kubelet.ts';
import { kubernetesServiceUnits } from '../../node/kubernetes-service.ts';
import { writeNetwork } from '../../node/network.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connect, CONTAINERD, CTR, PREPARE, SOCKET, UNITS } from '../../systemd/cluster-node.ts';
import { SHARE, startOtherContainer, type SystemContainer } from '../../systemd/container.ts';
import { packComponents, REPOSITORY } from './images.ts';
import { makeRepository } from './packages.ts';

const SERVICES = '10.96.0.0/16';
/** The image of etcd that each release of kubeadm asks for. */
const ETCD = { before: 'etcd:3.6.8-0', after: 'etcd:3.7.0-0' };
/** The control groups of the machine that runs the tests may be of version 1. */
const IGNORED = 'SystemVerification';
/** There is no CoreDNS in the cluster, and kubeadm looks whether it can upgrade it. */
const IGNORED_LATER = `${IGNORED},CoreDNSUnsupportedPlugins,CoreDNSMigration`;
/** Everything in the container runs as root, as a person's commands with sudo do. */
const SUDO = `#!/bin/sh
[ "$1 $2" = 'kubeadm upgrade' ] && set -- "$@" --ignore-preflight-errors=${IGNORED_LATER}
exec "$@"
`;
export const STEP_MS = 600_000;

/** What a machine is made of. */
export interface KubeadmMachinePlan {
  readonly name: string;
  /** Its number in the network of the tests. */
  readonly number: number;
  /** An empty folder, for its files. */
  readonly folder: string;
  /** The root folder of its system. */
  readonly root: string;
}

/** A machine that is a whole cluster. */
export interface KubeadmMachine extends AsyncDisposable {
  readonly name: string;
  /** Its running system; another one after each boot. */
  system(): SystemContainer;
  /** Runs kubectl on it, as cluster admin. */
  kubectl(args: string, input?: string): Promise<string>;
  /** Boots it again after its systemd has ended. */
  boot(): Promise<void>;
}

/** The configuration of `kubeadm init`: what a container needs, and nothing of the control plane but a flag for the webhook. */
function kubeadmConfig({ name, number }: KubeadmMachinePlan): string {
  const address = `198.19.0.${number}`;
  const apiVersion = 'kubeadm.k8s.io/v1beta4';
  const kubelet = {
    name,
    folder: '/var/lib/kubelet',
    staticPodPath: '/etc/kubernetes/manifests',
    caFile: '/etc/kubernetes/pki/ca.crt',
    kubeconfig: '/etc/kubernetes/kubelet.conf',
    endpoint: SOCKET,
  };
  const documents = [
    {
      apiVersion,
      kind: 'InitConfiguration',
      localAPIEndpoint: { advertiseAddress: address, bindPort: 6443 },
      nodeRegistration: { name, criSocket: SOCKET, kubeletExtraArgs: [{ name: 'node-ip', value: address }] },
    },
    {
      apiVersion,
      kind: 'ClusterConfiguration',
      kubernetesVersion: BEFORE.version,
      imageRepository: REPOSITORY,
      networking: { serviceSubnet: SERVICES },
      dns: { disabled: true },
      proxy: { disabled: true },
      // It calls the webhook at its pods, for there is no kube-proxy for the Service's address.
      apiServer: { extraArgs: [{ name: 'enable-aggregator-routing', value: 'true' }] },
    },
    // kubeadm leaves an empty list out, for which the kubelet takes its default.
    { ...configurationOf(kubelet, 10_250, 10_248), enforceNodeAllocatable: ['none'] },
  ];
  return documents.map((each) => JSON.stringify(each)).join('\n---\n');
}

/** Writes what the machine has before kubeadm: packages, images, network, and the units that a container needs. */
async function furnish(plan: KubeadmMachinePlan, share: string, signal: AbortSignal): Promise<void> {
  const changes = path.join(plan.folder, 'disk', 'changes');
  const packages = path.join(share, 'packages');
  const images = path.join(share, 'images');
  for (const each of [packages, images]) await mkdir(each, { recursive: true });
  const { before, after } = await kubeadmPrograms(signal);
  await makeRepository(packages, [
    { version: BEFORE.version, programs: { ...before.components, kubeadm: before.kubeadm } },
    { version: AFTER.version, programs: { ...after.components, kubeadm: after.kubeadm } },
  ]);
  const names = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
  await packComponents(images, [
    ...names.map((name) => ({ image: `${name}:${BEFORE.version}`, program: before.components[name] })),
    ...names.map((name) => ({ image: `${name}:${AFTER.version}`, program: after.components[name] })),
    { image: ETCD.before, program: before.components.etcd },
    { image: ETCD.after, program: after.components.etcd },
  ]);
  await mkdir(path.join(images, 'test'));
  await buildTestImage(path.join(images, 'test'));
  await writeNetwork(path.join(share, 'containerd', 'cni'), plan.number);
  const units = { ...UNITS, ...kubernetesServiceUnits(`198.19.0.${plan.number}:6443`) };
  const files: Readonly<Record<string, string>> = {
    'etc/apt/sources.list': `deb [trusted=yes] file:${SHARE}/packages ./\n`,
    ...Object.fromEntries(Object.entries(units).map(([unit, text]) => [`etc/systemd/system/${unit}`, text])),
    'usr/local/bin/prepare-node': PREPARE,
    'usr/local/bin/sudo': SUDO,
    'root/kubeadm.yaml': kubeadmConfig(plan),
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(changes, file)), { recursive: true });
    await writeFile(path.join(changes, file), text, { mode: file.startsWith('usr/local/bin/') ? 0o755 : 0o644 });
  }
  await writeFile(path.join(share, 'containerd', 'config.toml'), configOf(CONTAINERD));
}

/** Starts a machine that has the images, and may have the packages. */
export async function startKubeadmMachine(plan: KubeadmMachinePlan, signal: AbortSignal): Promise<KubeadmMachine> {
  const { name, number, folder, root } = plan;
  const [disk, share] = [path.join(folder, 'disk'), path.join(folder, 'share')];
  await furnish(plan, share, signal);
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
  try {
    await start();
    await waitFor('containerd answers', async () => (await system().run(`${CTR} version`)).code === 0, { signal });
    for (const archive of ['image.tar', 'test/image.tar'])
      await system().must(`${CTR} images import ${SHARE}/images/${archive}`, '', STEP_MS);
  } catch (error) {
    const said = await container?.run('journalctl -u containerd --no-pager -o cat | tail -n 40');
    await container?.[Symbol.asyncDispose]();
    throw new Error(said?.stdout ?? 'it did not boot', { cause: error });
  }
  return {
    name,
    system,
    kubectl: (args, input) =>
      system().must(`kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=30s ${args}`, input),
    boot: start,
    [Symbol.asyncDispose]: async () => await container?.[Symbol.asyncDispose](),
  };
}

/** Makes the machine a cluster of the earlier release, as the pages of Kubernetes have it, and lets it have pods. */
export async function makeCluster({ name, system, kubectl }: KubeadmMachine): Promise<void> {
  const { must, run } = system();
  const packages = ['kubeadm', 'kubelet', 'kubectl'];
  const versions = packages.map((each) => `${each}='${BEFORE.version.slice(1)}-*'`).join(' ');
  await must(`apt-get update && apt-get install -y ${versions}`, '', STEP_MS);
  await must(`apt-mark hold ${packages.join(' ')} && systemctl daemon-reload`);
  try {
    await must(`kubeadm init --config=/root/kubeadm.yaml --ignore-preflight-errors=${IGNORED}`, '', STEP_MS);
    const wait = `wait --for=condition=Ready node/${name} --timeout=5m`;
    await must(`kubectl --kubeconfig=/etc/kubernetes/admin.conf ${wait}`, '', STEP_MS);
  } catch (error) {
    const said = await run('journalctl -u containerd -u kubelet --no-pager -o cat | tail -n 60');
    throw new Error(said.stdout, { cause: error });
  }
  await kubectl(`taint node ${name} node-role.kubernetes.io/control-plane-`);
}
