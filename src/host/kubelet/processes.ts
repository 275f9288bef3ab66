/** The processes of this machine that call themselves a kubelet, and what speaks for or against each. */
import { readlink } from 'node:fs/promises';
import path from 'node:path';
import { type KubeletFlags, parseKubeletFlags } from '../../decide/machine/kubelet-config.ts';
import {
  type KubeletService,
  type KubeletTrust,
  type ProcessFacts,
  rootCgroupsOf,
  trustKubelets,
} from '../../decide/machine/kubelet-trust.ts';
import { cgroupsIn, listProcesses, readCgroupText, readCommandLine, readProcess } from '../process-facts.ts';

/** Where k3s has the files of its agent. */
export const K3S = '/var/lib/rancher/k3s/agent';

/** What k3s, which has its kubelet inside of itself, gives it. */
const K3S_FLAGS: KubeletFlags = new Map([
  ['config-dir', `${K3S}/etc/kubelet.conf.d`],
  ['kubeconfig', `${K3S}/kubelet.kubeconfig`],
]);
const PATH_FLAGS = ['config', 'config-dir', 'kubeconfig', 'pod-manifest-path'];

/** A process that is, or has in it, a kubelet. */
export interface KubeletProcess extends ProcessFacts {
  readonly flags: KubeletFlags;
  readonly isK3s: boolean;
  /** The text of its /proc/PID/cgroup. */
  readonly cgroupText: string;
}

/** What a command line says that the process is; undefined where it has no kubelet. */
function programOf(argv: readonly string[]): 'kubelet' | 'hyperkube' | 'k3s' | undefined {
  // k3s shows its command line as one word.
  const [program = '', verb = ''] = (argv[0] ?? '').split(' ').concat(argv.slice(1));
  const base = path.basename(program);
  if (base === 'k3s') return verb === 'server' || verb === 'agent' ? base : undefined;
  if (base === 'hyperkube') return verb === 'kubelet' ? base : undefined;
  return base === 'kubelet' ? base : undefined;
}

async function flagsOf(pid: number, argv: readonly string[]): Promise<KubeletFlags> {
  const flags = new Map(parseKubeletFlags(argv));
  // Without CAP_SYS_PTRACE it cannot be read; a unit's working directory is `/` unless it says otherwise.
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '/');
  for (const name of PATH_FLAGS) {
    const value = flags.get(name);
    if (value !== undefined && value !== '') flags.set(name, path.resolve(cwd, value));
  }
  return flags;
}

async function readCandidate(pid: number): Promise<KubeletProcess | undefined> {
  const found = await readProcess(pid);
  const program = found && programOf(found.argv);
  if (found === undefined || program === undefined) return undefined;
  const isK3s = program === 'k3s';
  const flags = isK3s ? K3S_FLAGS : await flagsOf(pid, found.argv);
  return { ...found, pid, program, cgroups: cgroupsIn(found.cgroupText), flags, isK3s };
}

/** All processes that call themselves kubelets, divided into those that are believed and others. */
export async function findKubeletProcesses(
  services: readonly KubeletService[],
  signal: AbortSignal,
): Promise<KubeletTrust<KubeletProcess>> {
  const candidates: KubeletProcess[] = [];
  for (const pid of await listProcesses()) {
    signal.throwIfAborted();
    if (programOf(await readCommandLine(pid)) === undefined) continue;
    const candidate = await readCandidate(pid);
    if (candidate !== undefined) candidates.push(candidate);
  }
  return trustKubelets(candidates, services, rootCgroupsOf(cgroupsIn(await readCgroupText(1))));
}
