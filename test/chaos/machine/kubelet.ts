import { setTimeout as sleep } from 'node:timers/promises';
import { collectionPath, objectPath, PODS } from '../../../src/kube/resource.ts';
import { readManifests } from '../../../src/static-pods/directory.ts';
import { mirrorPodObject } from '../objects.ts';
import { type ClusterPart, MACHINE_NODE, type World } from '../world.ts';
import type { Machine, ManifestMove } from './machine.ts';
import { startPod } from './pod.ts';

/** A part of a cluster that has a machine. */
type MachineWorld = ClusterPart & Pick<World, 'machine'>;

const LOOK_MS = 100;
/** A manifest that is seen nowhere so often is lost: the mover needs less time between two places. */
const LOST_AFTER = 5;
const NO_GRACE = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };

/** Starts the pods of the manifests in place, and ends the others; the API server's copies follow. */
async function syncPods(world: MachineWorld, machine: Machine, signal: AbortSignal): Promise<void> {
  const { manifests } = await readManifests(machine.staticPodPath, machine.nodeName, signal);
  for (const pod of machine.pods) {
    if (!manifests.some(({ podName }) => podName === pod.manifest.podName)) pod.end();
  }
  const live = machine.pods.filter((pod) => pod.state() !== 'ended');
  const missing = manifests.filter(({ podName }) => !live.some(({ manifest }) => manifest.podName === podName));
  machine.pods = [...live, ...missing.map(startPod)];
  const [namespace] = world.namespaces;
  const mirrors = world.pods().filter((pod) => isMirrorOf(machine, pod.metadata.name));
  for (const { metadata } of mirrors) {
    if (machine.pods.some(({ manifest }) => manifest.podName === metadata.name)) continue;
    const body = { ...NO_GRACE, preconditions: { uid: metadata.uid } };
    await world.send({ method: 'DELETE', path: objectPath(PODS, metadata), body });
  }
  if (!world.nodes().some(({ metadata }) => metadata.name === machine.nodeName)) return;
  for (const { manifest } of machine.pods.filter((pod) => pod.state() === 'running')) {
    if (mirrors.some(({ metadata }) => metadata.name === manifest.podName)) continue;
    const body = mirrorPodObject(manifest.podName, namespace, machine.nodeName);
    await world.send({ method: 'POST', path: collectionPath(PODS, namespace), body });
  }
}

/** Whether a pod of this name is a static pod of the machine. */
export function isMirrorOf({ nodeName }: Pick<Machine, 'nodeName'>, name: string): boolean {
  return /^s\d-/.test(name) && name.endsWith(`-${nodeName}`);
}

/** Notes where the manifests are that the history has put there. */
async function noteMoves(world: MachineWorld, machine: Machine, unseen: Map<string, number>): Promise<void> {
  // A manifest that is moved meanwhile is seen in one of the places: the parked ones are read before and after.
  const away = await machine.manifests('away');
  const inPlace = await machine.manifests('in place');
  const awayAfter = await machine.manifests('away');
  for (const key of world.staticPods) {
    const [number, node] = key.split('/');
    if (Number(node) !== MACHINE_NODE) continue;
    const file = `s${number}.yaml`;
    const isAway = away.includes(file) || awayAfter.includes(file);
    const misses = inPlace.includes(file) || isAway ? 0 : (unseen.get(key) ?? 0) + 1;
    unseen.set(key, misses);
    if (misses > 0 && misses < LOST_AFTER) continue;
    const where = inPlace.includes(file) ? 'in place' : isAway ? 'away' : 'nowhere';
    const pod = `${world.namespaces[0]}/s${number}-${machine.nodeName}`;
    const last = machine.moves.findLast((each) => each.pod === pod);
    if (last?.where === where) continue;
    const move: ManifestMove = { at: Date.now(), pod, where, forShutdown: machine.mayGoDown() };
    machine.moves.push(move);
  }
}

/** Plays the kubelet and the container runtime of the history's machine until the signal is aborted. */
export async function runMachine(world: MachineWorld, signal: AbortSignal): Promise<void> {
  const unseen = new Map<string, number>();
  while (!signal.aborted) {
    await syncPods(world, world.machine, signal).catch(() => undefined);
    await noteMoves(world, world.machine, unseen);
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
