/** The processes of this machine that call themselves a kubelet, and whether each is trusted. */
import { readlink } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type KubeletFlags, parseKubeletFlags } from '../../decide/machine/kubelet-config.ts';
import {
  type KubeletService,
  type KubeletTrust,
  type ProcessFacts,
  rootCgroupsOf,
  trustKubelets,
} from '../../decide/machine/kubelet-trust.ts';
import { cgroupsIn, readCgroupText, readCommandLine, readEachProcess, readProcess } from '../process-facts.ts';

/** The directory of the files of the k3s agent. */
export const K3S = '/var/lib/rancher/k3s/agent';

/** The flags of the kubelet that is built into k3s. */
const K3S_FLAGS: KubeletFlags = new Map([
  ['config-dir', `${K3S}/etc/kubelet.conf.d`],
  ['kubeconfig', `${K3S}/kubelet.kubeconfig`],
]);
const PATH_FLAGS = ['config', 'config-dir', 'kubeconfig', 'pod-manifest-path'];

/** A process that is a kubelet or contains one. */
export interface KubeletProcess extends ProcessFacts {
  readonly flags: KubeletFlags;
  readonly isK3s: boolean;
  /** The text of its /proc/PID/cgroup. */
  readonly cgroupText: string;
}

/** The program according to the command line; undefined if it contains no kubelet. */
function programOf(argv: readonly string[]): 'kubelet' | 'hyperkube' | 'k3s' | undefined {
  // k3s replaces its command line by a single word.
  const [program = '', verb = ''] = (argv[0] ?? '').split(' ').concat(argv.slice(1));
  const base = path.basename(program);
  if (base === 'k3s') return verb === 'server' || verb === 'agent' ? base : undefined;
  if (base === 'hyperkube') return verb === 'kubelet' ? base : undefined;
  return base === 'kubelet' ? base : undefined;
}

async function flagsOf(pid: number, argv: readonly string[]): Promise<KubeletFlags> {
  const flags = new Map(parseKubeletFlags(argv));
  // Without CAP_SYS_PTRACE it cannot be read; the default working directory of a unit is `/`.
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '/');
  for (const name of PATH_FLAGS) {
    const value = flags.get(name);
    if (value !== undefined && value !== '') flags.set(name, path.resolve(cwd, value));
  }
  return flags;
}

async function readCandidate(pid: number): Promise<KubeletProcess | undefined> {
  if (programOf(await readCommandLine(pid)) === undefined) return undefined;
  const found = await readProcess(pid);
  const program = found && programOf(found.argv);
  if (found === undefined || program === undefined) return undefined;
  const isK3s = program === 'k3s';
  const flags = isK3s ? K3S_FLAGS : await flagsOf(pid, found.argv);
  return { ...found, pid, program, cgroups: cgroupsIn(found.cgroupText), flags, isK3s };
}

/** Finds all processes that call themselves a kubelet, divided into trusted and refused ones. */
export async function findKubeletProcesses(
  services: readonly KubeletService[],
  signal: AbortSignal,
): Promise<KubeletTrust<KubeletProcess>> {
  const candidates = await readEachProcess(readCandidate, signal);
  const roots = rootCgroupsOf(cgroupsIn(await readCgroupText(1)));
  return trustKubelets(candidates, services, roots, process.geteuid?.() ?? 0);
}
