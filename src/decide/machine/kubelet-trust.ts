/**
 * Which process is the kubelet of this machine. Anybody may call a process `kubelet`, in a pod too, and the flags of a
 * kubelet tell the agent, which is root, where to move files. So only a process that root itself started on the machine is
 * believed: one of a unit of systemd that is known to have the kubelet, and only where there is none such, another one.
 */

/** What the kernel says of a process that calls itself a kubelet. */
export interface ProcessFacts {
  readonly pid: number;
  /** What it calls itself: kubelet, hyperkube or k3s. */
  readonly program: string;
  /** The name of its executable as it was started, 15 bytes at most (/proc/PID/status, Name). */
  readonly name: string;
  /** Real, effective, saved and file system user id. */
  readonly uids: readonly number[];
  /** In how many PID namespaces it is, this one included. */
  readonly pidNamespaces: number;
  /** Its control groups, one of each hierarchy. */
  readonly cgroups: readonly string[];
}

/** A service of systemd that is known to run a kubelet. */
export interface KubeletService {
  readonly unit: string;
  /** 0 while it has none. */
  readonly mainPid: number;
  /** Its control group; '' while it has none. */
  readonly controlGroup: string;
}

/** Why a process is not believed to be the kubelet. */
export interface RefusedKubelet {
  readonly pid: number;
  readonly uid: number | undefined;
  readonly reason: string;
}

/** The processes that are believed, and why each of the others is not. */
export interface KubeletTrust<T> {
  readonly trusted: readonly T[];
  readonly refused: readonly RefusedKubelet[];
}

/** Control groups of containers and virtual machines, by the name of any folder on the way to them. */
const CONTAINER =
  /kubepods|^(?:k8s\.io|docker|lxc(?:\..*)?|machine\.slice)$|^(?:cri-containerd|crio|docker|libpod|nerdctl)-/;
const USERS = 'user.slice';

/** The names of the folders of a control group below `root`, which is that of the whole machine or container. */
function foldersOf(cgroup: string, root: string): readonly string[] {
  const below = root !== '' && (cgroup === root || cgroup.startsWith(`${root}/`)) ? cgroup.slice(root.length) : cgroup;
  return below.split('/').filter((folder) => folder !== '');
}

/** The control group that contains everything, from those of process 1 (/proc/1/cgroup). */
export function rootCgroupsOf(ofInit: readonly string[]): readonly string[] {
  const roots = ofInit.map((cgroup) => cgroup.replace(/\/(?:init\.scope)?$/, ''));
  return [...new Set(roots)].filter((root) => root !== '');
}

/** What speaks against any kubelet of this machine; undefined where nothing does. */
function distrustOf(process: ProcessFacts, roots: readonly string[]): string | undefined {
  const { uids, pidNamespaces, cgroups } = process;
  if (uids.length !== 4 || uids.some((uid) => uid !== 0)) return `its user ids are ${uids.join(', ')} and not all 0`;
  if (pidNamespaces !== 1) return 'it runs in a PID namespace of its own, as containers do';
  if (cgroups.length === 0) return 'its control group is not known';
  for (const cgroup of cgroups) {
    // A root that is as long as can be: that of another hierarchy may be a part of it.
    const root =
      roots
        .filter((each) => cgroup === each || cgroup.startsWith(`${each}/`))
        .toSorted()
        .at(-1) ?? '';
    const folders = foldersOf(cgroup, root);
    if (folders.some((folder) => CONTAINER.test(folder))) return `it runs in a container (${cgroup})`;
    if (folders[0] === USERS) return `it runs in the session of a user (${cgroup})`;
  }
  return undefined;
}

function isOf({ mainPid, controlGroup }: KubeletService, { pid, cgroups }: ProcessFacts): boolean {
  if (pid === mainPid) return true;
  // The kubelet may be a child of the main process, as with k0s and RKE2, also in a group below that of the unit.
  if (controlGroup === '' || controlGroup === '/') return false;
  return cgroups.some((cgroup) => cgroup === controlGroup || cgroup.startsWith(`${controlGroup}/`));
}

/** A name that a program gave itself counts for less than that of its executable: argv[0] is whatever its parent wrote. */
function isNamed({ program, name }: ProcessFacts): boolean {
  return name === program.slice(0, 15) || (program === 'k3s' && name.startsWith('k3s-'));
}

/**
 * Divides processes that call themselves kubelets. `rootCgroups` is of `rootCgroupsOf`; `services` are the units that may
 * have the kubelet: where one of them has one, no other process is believed.
 */
export function trustKubelets<T extends ProcessFacts>(
  processes: readonly T[],
  services: readonly KubeletService[],
  rootCgroups: readonly string[],
): KubeletTrust<T> {
  const refused: RefusedKubelet[] = [];
  const refuse = ({ pid, uids }: T, reason: string): void => {
    refused.push({ pid, uid: uids.find((uid) => uid !== 0) ?? uids[0], reason });
  };
  const sound: T[] = [];
  for (const process of processes.toSorted((a, b) => a.pid - b.pid)) {
    const reason = distrustOf(process, rootCgroups);
    if (reason === undefined) sound.push(process);
    else refuse(process, reason);
  }
  const inUnit = sound.filter((process) => services.some((service) => isOf(service, process)));
  const others = sound.filter((process) => !inUnit.includes(process));
  if (inUnit.length > 0) {
    const units = services.filter((service) => inUnit.some((process) => isOf(service, process)));
    const names = units.map(({ unit }) => unit).join(', ');
    for (const process of others) refuse(process, `the kubelet of this machine is the one of ${names}`);
    return { trusted: inUnit, refused };
  }
  for (const process of others) {
    if (!isNamed(process))
      refuse(process, `its executable is called ${process.name}, and it is in no unit of a kubelet`);
  }
  return { trusted: others.filter(isNamed), refused };
}
