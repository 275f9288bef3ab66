import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../errors.ts';

/** The group with those of all pods in it, and that of one pod with its UID, as both drivers of the kubelet name them (pkg/kubelet/cm). */
const PARENT = /^(?:kubepods|(?:.+-)?kubepods\.slice)$/;
const POD = /^(?:.*-)?pod([0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12})(?:\.slice)?$/;
/** A kubelet may have its pods below a control group of its own, and version 1 has a tree for each controller. */
const DEPTH_OF_PODS = 3;

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** What is found in the folders of a control group, those of its own folders included; one that goes meanwhile has nothing. */
async function* walk(folder: string, depth: number): AsyncGenerator<string> {
  for (const name of await foldersIn(folder).catch(() => [])) {
    yield path.join(folder, name);
    if (depth > 1) yield* walk(path.join(folder, name), depth - 1);
  }
}

/** Whether a process is in the control group or in one below it; one that cannot be read may have some. */
async function hasProcesses(group: string): Promise<boolean> {
  try {
    if ((await readFile(path.join(group, 'cgroup.procs'), 'utf8')) !== '') return true;
    for (const name of await foldersIn(group)) if (await hasProcesses(path.join(group, name))) return true;
    return false;
  } catch (error) {
    return !['ENOENT', 'ENODEV'].includes(String(errorCodeOf(error)));
  }
}

/**
 * The UIDs of the pods that have processes, by the control groups that the kubelet gives them (Kubernetes, "Node Allocatable");
 * undefined where it gives them none, so that nothing is known. Needs no container runtime.
 */
export async function podsWithProcesses(
  signal: AbortSignal,
  root = '/sys/fs/cgroup',
): Promise<Set<string> | undefined> {
  let uids: Set<string> | undefined;
  for await (const parent of walk(root, DEPTH_OF_PODS)) {
    signal.throwIfAborted();
    if (!PARENT.test(path.basename(parent))) continue;
    uids ??= new Set();
    for await (const group of walk(parent, 2)) {
      const uid = POD.exec(path.basename(group))?.[1]?.replaceAll('_', '-');
      if (uid !== undefined && !uids.has(uid) && (await hasProcesses(group))) uids.add(uid);
    }
  }
  return uids;
}
