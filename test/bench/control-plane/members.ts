/**
 * A control plane of three members on three machines in containers, each with a systemd, a logind, a containerd and a kubelet of its
 * own; etcd, kube-apiserver, scheduler and controller-manager are its static pods, as kubeadm 1.37 lays them out. The folder `disk` has
 * what is on the disk of each; haproxy balances their API servers.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { createAuthority, type KeyPair, writeKubeconfig } from '../../control-plane/certificates.ts';
import { isOk, runKubectl } from '../../control-plane/components.ts';
import { startProgram } from '../../control-plane/process.ts';
import { configOf } from '../../node/containerd.ts';
import { buildTestImage } from '../../node/images.ts';
import { configurationOf } from '../../node/kubelet.ts';
import { writeNetwork } from '../../node/network.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CONTAINERD, CTR, PREPARE, SOCKET, UNITS } from '../../systemd/cluster-node.ts';
import { SHARE, startOtherContainer, type SystemContainer } from '../../systemd/container.ts';
import { systemRoot } from '../../systemd/roots.ts';
import type { Access } from './clients.ts';

const run = promisify(execFile);
const BRIDGE = 'nmbench';
/** The address of the balancer. */
const HOST = '198.19.1.254';
const ADDRESSES = new Map(['node-a', 'node-b', 'node-c'].map((name, index) => [name, `198.19.1.${index + 1}`]));
/** The names of the members. */
export const MEMBERS = [...ADDRESSES.keys()];
const READY = '{.items[*].status.conditions[?(@.type=="Ready")].status}';
const UP_MS = 300_000;

/** A control plane of three members. */
export interface ThreeMembers extends AsyncDisposable {
  readonly access: Access;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  kubeconfigFor(user: string, groups: readonly string[]): Promise<string>;
  /** The running system of a member; another one after each boot. */
  system(name: string): SystemContainer;
  /** Boots a member whose system has ended. */
  boot(name: string): Promise<void>;
  /** Waits until every member serves, its Node is Ready, and all members of etcd have one leader. */
  untilWhole(): Promise<void>;
  /** The term of raft. */
  term(): Promise<number>;
}

/** How the machines of the members are set: seconds of --shutdown-delay-duration, and more of the kubelet's configuration. */
export interface MembersPlan {
  readonly delaySec: number;
  readonly kubelet: object;
}

/** Makes the certificates, the same for all members, and the kubeconfigs of each. */
async function makeCertificates(folder: string) {
  const pki = path.join(folder, 'pki');
  await mkdir(path.join(pki, 'etcd'), { recursive: true });
  const [cluster, etcd] = [await createAuthority(pki), await createAuthority(path.join(pki, 'etcd'))];
  const own = ['DNS:localhost', 'IP:127.0.0.1', ...[...ADDRESSES.values()].map((address) => `IP:${address}`)];
  await cluster.server('apiserver', [...own, `IP:${HOST}`, 'IP:10.96.0.1']);
  await cluster.client('sa', 'service-accounts', []);
  for (const each of ['server', 'peer']) await etcd.server(each, own);
  const health = await etcd.client('healthcheck-client', 'kube-etcd-healthcheck-client', []);
  const apiServer = await etcd.client('apiserver-etcd-client', 'kube-apiserver-etcd-client', []);
  for (const file of Object.values(apiServer)) await copyFile(file, path.join(pki, path.basename(file)));
  const kubeconfig = async (name: string, user: string, groups: readonly string[], host = HOST): Promise<string> => {
    const pair = await cluster.client(name, user, groups);
    return await writeKubeconfig(path.join(folder, name), `https://${host}:6443`, cluster.ca.cert, pair);
  };
  for (const [name, address] of ADDRESSES) {
    await kubeconfig(`kubelet-${name}`, `system:node:${name}`, ['system:nodes']);
    await kubeconfig(`scheduler-${name}`, 'system:kube-scheduler', [], address);
    await kubeconfig(`controller-manager-${name}`, 'system:kube-controller-manager', [], address);
  }
  const admin = await cluster.client('admin', 'admin', ['system:masters']);
  return { kubeconfig, admin, health, ca: cluster.ca.cert, etcdCa: etcd.ca.cert };
}

/** Writes the disk of a member. */
async function furnish(name: string, folder: string, { delaySec, kubelet }: MembersPlan): Promise<void> {
  const address = ADDRESSES.get(name) ?? '';
  const own = path.join(folder, name);
  const programs = path.dirname((await controlPlaneBinaries(AbortSignal.timeout(UP_MS))).kubelet);
  await run(path.join(import.meta.dirname, 'furnish.sh'), [own, name, address, `${delaySec}s`, folder, programs]);
  const [changes, share] = [path.join(own, 'disk', 'changes'), path.join(own, 'share')];
  const [staticPodPath, caFile] = ['/etc/kubernetes/manifests', '/etc/kubernetes/pki/ca.crt'];
  const settings = { name, folder: '/var/lib/kubelet', staticPodPath, caFile, kubeconfig: '', endpoint: SOCKET };
  const files = {
    'etc/kubernetes/kubelet.yaml': JSON.stringify({ ...configurationOf(settings, 10_250, 10_248), ...kubelet }),
    'usr/local/bin/prepare-node': PREPARE,
    ...Object.fromEntries(Object.entries(UNITS).map(([unit, text]) => [`etc/systemd/system/${unit}`, text])),
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(changes, file)), { recursive: true });
    await writeFile(path.join(changes, file), text, { mode: 0o755 });
  }
  await writeNetwork(path.join(share, 'containerd', 'cni'), Number(address.split('.').at(-1)));
  await writeFile(path.join(share, 'containerd', 'config.toml'), configOf(CONTAINERD));
  await buildTestImage(share);
}

async function connect(container: SystemContainer, name: string): Promise<void> {
  const outside = `nmb-${name}`;
  // The kernel takes the one of the last boot away some time after its namespace has ended.
  await run('ip', ['link', 'delete', outside]).catch(() => undefined);
  const inside = ['peer', 'name', 'eth0', 'netns', String(container.firstProcess())];
  await run('ip', ['link', 'add', outside, 'type', 'veth', ...inside]);
  await run('ip', ['link', 'set', outside, 'master', BRIDGE, 'up']);
  const address = `ip address add ${ADDRESSES.get(name)}/24 dev eth0`;
  await container.must(`ip link set lo up && ${address} && ip link set eth0 up && ip route add default via ${HOST}`);
}

async function statusOf(address: string, etcdCa: string, { cert, key }: KeyPair) {
  const tls = ['--cacert', etcdCa, '--cert', cert, '--key', key];
  const url = `https://${address}:2379/v3/maintenance/status`;
  const { stdout } = await run('curl', ['-sSf', '-m', '3', ...tls, '-X', 'POST', '-d', '{}', url]);
  return JSON.parse(stdout) as { readonly raftTerm: string; readonly leader: string };
}

/** Starts the members and waits until all of them serve. */
export async function startMembers(folder: string, plan: MembersPlan, signal: AbortSignal): Promise<ThreeMembers> {
  await using stack = new AsyncDisposableStack();
  // One that was killed has left it.
  await run('ip', ['link', 'delete', BRIDGE]).catch(() => undefined);
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  stack.defer(async () => void (await run('ip', ['link', 'delete', BRIDGE])));
  await run('ip', ['address', 'add', `${HOST}/24`, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
  const { kubeconfig, admin, health, ca, etcdCa } = await makeCertificates(folder);
  const root = await systemRoot('12', signal);
  const systems = new Map<string, SystemContainer>();
  const system = (name: string): SystemContainer => systems.get(name) as SystemContainer;
  stack.defer(async () => {
    for (const each of systems.values()) await each[Symbol.asyncDispose]();
  });
  const boot = async (name: string): Promise<void> => {
    await systems.get(name)?.[Symbol.asyncDispose]();
    const [share, disk] = [path.join(folder, name, 'share'), path.join(folder, name, 'disk')];
    systems.set(name, await startOtherContainer({ root, share, disk }, signal));
    await connect(system(name), name);
  };
  for (const name of MEMBERS) {
    await furnish(name, folder, plan);
    await boot(name);
    await waitFor('containerd answers', async () => (await system(name).run(`${CTR} version`)).code === 0, { signal });
    await system(name).must(`${CTR} images import ${SHARE}/image.tar`);
  }
  const haproxy = ['haproxy', '-db', '-f', path.join(import.meta.dirname, 'haproxy.cfg')] as const;
  stack.use(startProgram(haproxy, path.join(folder, 'haproxy.log')));
  const adminKubeconfig = await kubeconfig('admin.conf', 'kubernetes-admin', ['system:masters']);
  const { kubectl: binary } = await controlPlaneBinaries(signal);
  const kubectl: ThreeMembers['kubectl'] = (args, input) => runKubectl(binary, adminKubeconfig, args, input);
  const addresses = [...ADDRESSES.values()];
  const isWhole = async (): Promise<boolean> => {
    const ready = await Promise.all(addresses.map((each) => isOk(`https://${each}:6443/readyz`, ca, admin)));
    const statuses = await Promise.all(addresses.map((each) => statusOf(each, etcdCa, health)));
    const nodes = await kubectl(['get', 'nodes', '-o', `jsonpath=${READY}`]);
    return (
      ready.every(Boolean) && new Set(statuses.map(({ leader }) => leader)).size === 1 && nodes === 'True True True'
    );
  };
  const untilWhole = (): Promise<void> => waitFor('the control plane is whole', isWhole, { timeoutMs: UP_MS, signal });
  await untilWhole();
  for (const name of MEMBERS) await kubectl(['label', 'node', name, 'node-role.kubernetes.io/control-plane=']);
  const owned = stack.move();
  return {
    access: { host: HOST, port: 6443, caFile: ca, client: admin },
    kubectl,
    kubeconfigFor: (user, groups) => kubeconfig(`client-${crypto.randomUUID()}`, user, groups),
    system,
    boot,
    untilWhole,
    term: async () => {
      const statuses = await Promise.allSettled(addresses.map((each) => statusOf(each, etcdCa, health)));
      return Math.max(...statuses.map((each) => (each.status === 'fulfilled' ? Number(each.value.raftTerm) : 0)));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
