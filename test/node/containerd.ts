import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Program, startProgram, waitUntil } from '../control-plane/process.ts';
import { buildTestImage, TEST_IMAGE } from './images.ts';

const run = promisify(execFile);

/** Debian's containerd with a root, a state and a socket of its own. */
export interface Containerd extends AsyncDisposable {
  readonly folder: string;
  readonly socket: string;
  /** The socket as a CRI endpoint. */
  readonly endpoint: string;
  readonly program: Program;
}

/** The configuration; pods use the host's network, so the CNI has nothing to do but be there. */
function configOf(folder: string): string {
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "${folder}/containerd.sock"
[ttrpc]
  address = "${folder}/containerd.sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TEST_IMAGE}"
  enable_selinux = false
  disable_apparmor = true
  # Sandboxes boxed in by their host may not lower their score.
  restrict_oom_score_adj = true
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

/** Ends every process whose cgroup or arguments belong to this containerd: shims outlive their daemon on purpose. */
async function killShims(folder: string): Promise<void> {
  await run('pkill', ['-KILL', '-f', `containerd-shim-runc-v2.*${folder}`]).catch(() => undefined);
}

async function unmountBelow(folder: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.filter((place) => place.startsWith(`${folder}/`)).toReversed()) {
    await run('umount', ['-l', mount]).catch(() => undefined);
  }
}

/** Starts containerd with the test image in it. */
export async function startContainerd(signal: AbortSignal): Promise<Containerd> {
  const folder = await mkdtemp('/run/nodemaint-containerd-');
  await mkdir(path.join(folder, 'cni', 'net.d'), { recursive: true });
  await mkdir(path.join(folder, 'cni', 'bin'), { recursive: true });
  const network = { cniVersion: '0.3.1', name: 'loopback', plugins: [{ type: 'loopback' }] };
  await writeFile(path.join(folder, 'cni', 'net.d', '99-loopback.conflist'), JSON.stringify(network));
  await writeFile(path.join(folder, 'config.toml'), configOf(folder));
  const socket = path.join(folder, 'containerd.sock');
  const program = startProgram(
    ['containerd', '--config', path.join(folder, 'config.toml')],
    path.join(folder, 'containerd.log'),
  );
  const ctr = async (...args: string[]): Promise<boolean> => {
    await run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args], { timeout: 60_000 });
    return true;
  };
  await waitUntil('containerd answers', () => ctr('version'), { timeoutMs: 30_000, program }, signal);
  const images = await mkdtemp(path.join(folder, 'image-'));
  await ctr('images', 'import', await buildTestImage(images));
  return {
    folder,
    socket,
    endpoint: `unix://${socket}`,
    program,
    [Symbol.asyncDispose]: async () => {
      await killShims(folder);
      await program.stop();
      await killShims(folder);
      await unmountBelow(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
