import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Program } from '../control-plane/process.ts';
import { buildTestImage, TEST_IMAGE } from './images.ts';
import type { NodeNamespace } from './namespace.ts';
import { writeNetwork } from './network.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);

/** Debian's containerd with a root, a state and a socket of its own. */
export interface Containerd extends AsyncDisposable {
  readonly socket: string;
  /** The socket as a CRI endpoint. */
  readonly endpoint: string;
  /** Takes in the images of an archive. */
  importImage(archive: string): Promise<void>;
  /** Ends containerd alone; the containers go on. */
  stop(): Promise<void>;
}

/** The configuration of a containerd whose files lie in `folder`; the pods of most tests use the host's network. */
export function configOf(folder: string): string {
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "${folder}/containerd.sock"
[ttrpc]
  address = "${folder}/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TEST_IMAGE}"
  enable_selinux = false
  disable_apparmor = true
  # Sandboxes boxed in by their host may not lower their score.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${folder}/cni/bin"
    conf_dir = "${folder}/cni/net.d"
`;
}

const CGROUPS = '/sys/fs/cgroup';

/** The hierarchies of control groups: version 1 has a folder for each controller, version 2 has none. */
async function hierarchies(): Promise<readonly string[]> {
  const folders = (await readdir(CGROUPS, { withFileTypes: true })).filter((each) => each.isDirectory());
  const all = [CGROUPS, ...folders.map(({ name }) => path.join(CGROUPS, name))];
  return existsSync(path.join(CGROUPS, 'cgroup.procs')) ? [CGROUPS] : all.slice(1);
}

/** A control group of a node, in all hierarchies. */
export interface CgroupRoot extends AsyncDisposable {
  /** As the kubelet's configuration has it. */
  readonly name: string;
  /** Kills all processes in it and below. */
  kill(): Promise<void>;
}

/** Makes a control group below which a kubelet can have those of its pods. */
export async function makeCgroupRoot(name: string): Promise<CgroupRoot> {
  const groups = (await hierarchies()).map((place) => path.join(place, name));
  for (const group of groups) await mkdir(group);
  const kill = async (): Promise<void> => {
    const all = `find ${groups.join(' ')} -name cgroup.procs -exec cat {} + | sort -u | xargs -r kill -9 || true`;
    await run('sh', ['-c', all]);
  };
  const remove = async (): Promise<void> => {
    for (const group of groups) await removeTree(group);
  };
  return { name: `/${name}`, kill, [Symbol.asyncDispose]: remove };
}

async function removeTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((candidate) => candidate.isDirectory())) {
    await removeTree(path.join(folder, entry.name));
  }
  await rmdir(folder).catch(() => undefined);
}

/** Removes the groups below which pods were of a test that was killed: the agents of other tests would take them for theirs. */
export async function removeLeftCgroupRoots(): Promise<void> {
  for (const place of await hierarchies())
    for (const name of await readdir(place))
      if (name.startsWith('local-drain-')) await removeTree(path.join(place, name));
}

/** Removes the cgroups of the containers that ended with their namespace, as their shims, which ended too, would have. */
export async function removeContainerCgroups(folder: string): Promise<void> {
  const bundles = path.join(folder, 'state', 'io.containerd.runtime.v2.task', 'k8s.io');
  const ids = await readdir(bundles).catch(() => []);
  for (const place of await hierarchies()) for (const id of ids) await removeTree(path.join(place, 'k8s.io', id));
}

/** Starts containerd, with the test image in it, in a node's namespace; its containers end with the namespace. */
export async function startContainerd(
  folder: string,
  namespace: NodeNamespace,
  signal: AbortSignal,
): Promise<Containerd> {
  await mkdir(folder);
  await writeNetwork(path.join(folder, 'cni'));
  const config = path.join(folder, 'config.toml');
  await writeFile(config, configOf(folder));
  const socket = path.join(folder, 'containerd.sock');
  const program: Program = namespace.start(['containerd', '--config', config], path.join(folder, 'containerd.log'));
  const ctr = async (...args: string[]): Promise<boolean> => {
    await run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args], { timeout: 60_000, signal });
    return true;
  };
  try {
    await waitFor('containerd answers', () => ctr('version'), { program, signal });
    await ctr('images', 'import', await buildTestImage(path.join(folder, 'image')));
  } catch (error) {
    await program.stop();
    throw error;
  }
  return {
    socket,
    endpoint: `unix://${socket}`,
    importImage: async (archive) => {
      await ctr('images', 'import', archive);
    },
    stop: () => program.stop(),
    [Symbol.asyncDispose]: () => program.stop(),
  };
}
