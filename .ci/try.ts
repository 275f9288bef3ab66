/**
 * `sudo npm run try`: a real cluster with two machines on this one, until Ctrl-C (docs/usage/try-it.md). The machines are those of
 * test/e2e: Debian with its systemd, containerd and a kubelet, in a container that comes back after a reboot.
 */
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { clientPrograms } from '../test/control-plane/clients.ts';
import { type Machines, startMachines } from '../test/e2e/machines/machines.ts';
import { E2E, lacksOf } from '../test/requirements.ts';
import { setUp } from '../test/set-up.ts';
import type { ClusterNode } from '../test/systemd/cluster-node.ts';

/** Where nobody but root can put a file in the place of another: a shell of root reads what is there. */
const FOLDER = '/var/lib/nodemaint-try';
const NAMES = ['worker-1', 'worker-2'] as const;
const LOOK_MS = 1_000;

async function writeProgram(name: string, text: string): Promise<void> {
  const file = path.join(FOLDER, name);
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
}

/** A program with the name of the machine, that runs what it is given on the machine. */
async function writeEntry(node: ClusterNode): Promise<void> {
  const enter = `nsenter --target ${node.system().firstProcess()} --mount --uts --ipc --net --pid --cgroup --root --wdns=/`;
  await writeProgram(node.name, `exec ${enter} -- env -i PATH="$PATH" HOME=/root TERM="$TERM" "\${@:-sh}"`);
}

/** Boots a machine again whenever it has gone down. */
async function keepUp(node: ClusterNode, signal: AbortSignal): Promise<void> {
  for (;;) {
    await wait(LOOK_MS, undefined, { signal });
    if (!node.system().hasEnded()) continue;
    console.log(`${node.name} is down; it boots again`);
    await node.boot();
    await writeEntry(node);
    console.log(`${node.name} is back`);
  }
}

/** What a shell needs to use the cluster. */
async function writeShell({ controlPlane }: Machines, signal: AbortSignal): Promise<void> {
  const { kubectl } = await clientPrograms(signal);
  await symlink(kubectl, path.join(FOLDER, 'kubectl'));
  const program = path.join(import.meta.dirname, '..', 'dist', 'nodemaint.cjs');
  await writeProgram('nodemaint', `exec '${process.execPath}' '${program}' "$@"`);
  await writeFile(path.join(FOLDER, 'env'), `export KUBECONFIG='${controlPlane.adminKubeconfig}' PATH="${FOLDER}:$PATH"\n`);
}

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stopping.abort());
const { signal } = stopping;
await setUp(E2E, signal);
const lacks = lacksOf(E2E);
if (lacks !== '') throw new Error(lacks);
await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
console.log('a cluster with two machines is started, some minutes');
try {
  await using machines = await startMachines({ names: NAMES, firstNumber: 41 }, signal);
  await machines.load();
  await writeShell(machines, signal);
  const nodes = NAMES.map((name) => machines.machine(name));
  await Promise.all(nodes.map(writeEntry));
  console.log(`it runs. In another shell, as root:  . ${FOLDER}/env\nCtrl-C here ends it`);
  await Promise.all(nodes.map((node) => keepUp(node, signal)));
} catch (error) {
  if (!signal.aborted) throw error;
} finally {
  await rm(FOLDER, { recursive: true, force: true });
}
