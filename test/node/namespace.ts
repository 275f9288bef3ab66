import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { childOf, type Program, startProgram, startWrapped } from '../control-plane/process.ts';
import { leaveSession } from '../support/session.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * A process and mount namespace for a node. Everything that the node starts and mounts lives in it, containers and
 * their shims too, so that one kill ends it all and nothing is ever mounted outside; files and sockets are the machine's.
 */
export interface NodeNamespace extends AsyncDisposable {
  start(command: readonly [string, ...string[]], logFile: string): Program;
}

// The kubelet insists on values for these; it gets copies, so that the machine keeps its own.
const TUNABLES = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

// Folders that containerd, its shims, runc and the kubelet write whatever their configuration says.
const FIXED_FOLDERS = ['/run/containerd', '/var/lib/kubelet', '/var/log/containers'];

/** What process 1 does: hide the machine's own, say that all is set up, and reap whatever is left to it. */
const INIT = `
set -e
folder=$1
for name in ${TUNABLES.join(' ')}; do
  copy=$folder/tunables/$(echo "$name" | tr / .)
  cat "/proc/sys/$name" > "$copy"
  mount --bind "$copy" "/proc/sys/$name"
done
for place in ${FIXED_FOLDERS.join(' ')}; do
  mkdir -p "$place"
  mount -t tmpfs -o mode=0711 nodemaint "$place"
done
echo ready > "$folder/ready"
while :; do sleep 3600 & wait || true; done
`;

async function fileExists(folder: string, name: string): Promise<boolean> {
  return (await readdir(folder)).includes(name);
}

/** Makes the namespace of the node whose files lie in `folder`. */
export async function createNamespace(folder: string, signal: AbortSignal): Promise<NodeNamespace> {
  leaveSession();
  const own = path.join(folder, 'namespace');
  await mkdir(path.join(own, 'tunables'), { recursive: true });
  await writeFile(path.join(own, 'init.sh'), INIT);
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const;
  const init = startProgram([...unshare, 'sh', path.join(own, 'init.sh'), own], path.join(own, 'log'));

  const dispose = async (): Promise<void> => {
    // Its end ends all others; unshare, which ignores SIGTERM, waits for that.
    const first = childOf(init.pid);
    if (first !== undefined) process.kill(first, 'SIGKILL');
    await init.stop();
  };
  try {
    const what = 'the namespace of the node gets ready';
    await waitFor(what, () => fileExists(own, 'ready'), { program: init, signal });
  } catch (error) {
    await dispose();
    throw error;
  }
  // Without --root it would see the root of the whole machine where the tests run in a chroot.
  const enter = ['nsenter', `--target=${childOf(init.pid) ?? 0}`, '--mount', '--root', '--pid', '--'] as const;
  return { start: (command, logFile) => startWrapped(enter, command, logFile), [Symbol.asyncDispose]: dispose };
}
