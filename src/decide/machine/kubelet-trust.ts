/**
 * Which process is the kubelet of this machine. Every user, also inside a pod, may start a process called `kubelet`, and the
 * agent, as root, moves files according to the kubelet's flags. So the agent trusts only a process that root started on the
 * machine itself: one in a systemd unit that is known to run the kubelet, or, if there is none, another one. A command that
 * an ordinary user runs also trusts a process of that user, for whom it can do nothing that the user may not do.
 */

/** The kernel's facts about a process that calls itself a kubelet. */
export interface ProcessFacts {
  readonly pid: number;
  /** The program according to its command line: kubelet, hyperkube or k3s. */
  readonly program: string;
  /** The name of its executable, at most 15 bytes (/proc/PID/status, Name). */
  readonly name: string;
  /** Real, effective, saved and file system user id. */
  readonly uids: readonly number[];
  /** The number of PID namespaces that contain it, this one included. */
  readonly pidNamespaces: number;
  /** Its control groups, one per hierarchy. */
  readonly cgroups: readonly string[];
}

/** A systemd service that is known to run a kubelet. */
export interface KubeletService {
  readonly unit: string;
  /** 0 if it has no main process. */
  readonly mainPid: number;
  /** Empty if it has no control group. */
  readonly controlGroup: string;
}

/** A process that is not trusted to be the kubelet. */
export interface RefusedKubelet {
  readonly pid: number;
  readonly uid: number | undefined;
  readonly reason: string;
}

/** The trusted processes, and why each of the others is not trusted. */
export interface KubeletTrust<T> {
  readonly trusted: readonly T[];
  readonly refused: readonly RefusedKubelet[];
}

/** Matches a folder in the path of a control group that belongs to a container or a virtual machine. */
const CONTAINER =
  /kubepods|^(?:k8s\.io|docker|lxc(?:\..*)?|machine\.slice)$|^(?:cri-containerd|crio|docker|libpod|nerdctl)-/;
const USERS = 'user.slice';
/** The user id of root. */
const ROOT = 0;

/** The folders of a control group below `root`, the control group of the whole machine or container. */
function foldersOf(cgroup: string, root: string): readonly string[] {
  const below = root !== '' && (cgroup === root || cgroup.startsWith(`${root}/`)) ? cgroup.slice(root.length) : cgroup;
  return below.split('/').filter((folder) => folder !== '');
}

/** The root control group of each hierarchy, from the control groups of process 1 (/proc/1/cgroup). */
export function rootCgroupsOf(ofInit: readonly string[]): readonly string[] {
  const roots = ofInit.map((cgroup) => cgroup.replace(/\/(?:init\.scope)?$/, ''));
  return [...new Set(roots)].filter((root) => root !== '');
}

/** Whether all four user ids of a process are this one. */
function isOfUser({ uids }: ProcessFacts, user: number): boolean {
  return uids.length === 4 && uids.every((uid) => uid === user);
}

/** Why a process cannot be the kubelet of this machine, for a program of the user `asker`; undefined if it can. */
function untrustedReason(process: ProcessFacts, roots: readonly string[], asker: number): string | undefined {
  const { uids, pidNamespaces, cgroups } = process;
  const isOfAsker = asker !== ROOT && isOfUser(process, asker);
  if (!isOfUser(process, ROOT) && !isOfAsker) return `its user ids are ${uids.join(', ')} and not all 0`;
  if (pidNamespaces !== 1) return 'it runs in a PID namespace of its own, as containers do';
  if (cgroups.length === 0) return 'its control group is not known';
  for (const cgroup of cgroups) {
    // The longest matching root: the root of another hierarchy may be a prefix of it.
    const root =
      roots
        .filter((each) => cgroup === each || cgroup.startsWith(`${each}/`))
        .toSorted()
        .at(-1) ?? '';
    const folders = foldersOf(cgroup, root);
    if (folders.some((folder) => CONTAINER.test(folder))) return `it runs in a container (${cgroup})`;
    if (folders[0] === USERS && !isOfAsker) return `it runs in the session of a user (${cgroup})`;
  }
  return undefined;
}

function isOf({ mainPid, controlGroup }: KubeletService, { pid, cgroups }: ProcessFacts): boolean {
  if (pid === mainPid) return true;
  // The kubelet may be a child of the main process, as in k0s and RKE2, in the unit's control group or in one below it.
  if (controlGroup === '' || controlGroup === '/') return false;
  return cgroups.some((cgroup) => cgroup === controlGroup || cgroup.startsWith(`${controlGroup}/`));
}

/** Whether the executable has the name of the program: argv[0] alone proves nothing, because the parent process chooses it. */
function isNamed({ program, name }: ProcessFacts): boolean {
  return name === program.slice(0, 15) || (program === 'k3s' && name.startsWith('k3s-'));
}

/**
 * Divides processes that call themselves kubelets into trusted and refused ones. `services` are the units that may run the
 * kubelet: if one of them does, no other process is trusted. `rootCgroups` comes from `rootCgroupsOf`; `asker` is the user id
 * of the program that asks.
 */
export function trustKubelets<T extends ProcessFacts>(
  processes: readonly T[],
  services: readonly KubeletService[],
  rootCgroups: readonly string[],
  asker: number,
): KubeletTrust<T> {
  const refused: RefusedKubelet[] = [];
  const refuse = ({ pid, uids }: T, reason: string): void => {
    refused.push({ pid, uid: uids.find((uid) => uid !== 0) ?? uids[0], reason });
  };
  const sound: T[] = [];
  for (const process of processes.toSorted((a, b) => a.pid - b.pid)) {
    const reason = untrustedReason(process, rootCgroups, asker);
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
