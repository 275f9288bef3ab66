import { setTimeout as sleep } from 'node:timers/promises';
import { KUBELET_INTERCEPTOR } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { targetsCover } from '../../../src/decide/maintenance/drain-plan.ts';
import { drainsOfNode } from '../../../src/decide/maintenance/maintenance.ts';
import { drainPodOf } from '../../../src/decide/pod.ts';
import { collectionPath, keyOf, objectPath, PODS } from '../../../src/kube/resource.ts';
import { mirrorPodObject } from '../objects.ts';
import { isMirrorOf } from '../machine/kubelet.ts';
import { type ClusterPart, MACHINE_NODE } from '../world.ts';
import { reportProgress } from './report.ts';

const LOOK_MS = 100;
/** How long a pod takes to end. */
const ENDING_MS = 150;
const LEASE_MS = 10_000;
const NO_GRACE = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };

/** Starts a pod that is bound, and ends one that is told to end, as a kubelet does. */
async function runPod(world: ClusterPart, pod: Pod, toldAt: Map<string, number>): Promise<void> {
  const { uid = '', deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined) {
    if (pod.status?.phase !== 'Pending' || pod.status.conditions?.some(({ type }) => type === 'Ready') === true) return;
    const conditions = [{ type: 'Ready', status: 'True' }];
    const path = objectPath(PODS, pod.metadata, 'status');
    await world.send({
      method: 'PATCH',
      path,
      body: { status: { phase: 'Running', conditions } },
      patch: { kind: 'strategic' },
    });
    return;
  }
  if (world.stuck.has(keyOf(pod))) return;
  const since = toldAt.get(uid) ?? Date.now();
  toldAt.set(uid, since);
  if (Date.now() - since < ENDING_MS) return;
  const body = { ...NO_GRACE, preconditions: { uid } };
  await world.send({ method: 'DELETE', path: objectPath(PODS, pod.metadata), body });
}

/** Whether a drain of the node takes the pod now: that is when the agent moves its manifest away. */
function isCovered(world: ClusterPart, node: string, pod: Pod): boolean {
  const drains = drainsOfNode(world.maintenances(), node);
  return drains.some(({ drainTargets }) => targetsCover(drainTargets, drainPodOf(pod)));
}

/** Keeps the mirror pod of a static pod, or its manifest away, as the kubelet and the agent of its node do together; `known` has its last mirror pods. */
export async function runStaticPod(world: ClusterPart, key: string, known: Map<string, Pod>): Promise<void> {
  const [number = '', nodeNumber = ''] = key.split('/');
  const node = world.nodeNames[Number(nodeNumber)] ?? '';
  const name = `s${number}-${node}`;
  const mirror = world.pods().find((pod) => pod.metadata.name === name);
  if (mirror !== undefined) known.set(key, mirror);
  const last = known.get(key);
  if (world.parked.has(key)) {
    if (last !== undefined && isCovered(world, node, last)) return;
    world.parked.delete(key);
  }
  if (mirror === undefined) {
    if (!world.nodes().some(({ metadata }) => metadata.name === node)) return;
    const [namespace] = world.namespaces;
    const body = mirrorPodObject(name, namespace, node);
    await world.send({ method: 'POST', path: collectionPath(PODS, namespace), body });
    return;
  }
  const request = world.requests().find(({ metadata }) => metadata.name === mirror.metadata.uid);
  if (request === undefined || !isCovered(world, node, mirror)) return;
  const isItsTurn = request.status?.activeInterceptors?.[0] === KUBELET_INTERCEPTOR;
  // An agent that was passed over acts out of turn, and reports nothing then.
  if (!isItsTurn && request.status?.processedInterceptors?.includes(KUBELET_INTERCEPTOR) !== true) return;
  if (isItsTurn) await reportProgress(world, request, KUBELET_INTERCEPTOR, { message: 'The manifest is moved away.' });
  world.parked.add(key);
  const body = { ...NO_GRACE, preconditions: { uid: mirror.metadata.uid } };
  await world.send({ method: 'DELETE', path: objectPath(PODS, mirror.metadata), body });
}

async function removeStaticPod(world: ClusterPart, pod: Pod): Promise<void> {
  await world.send({ method: 'DELETE', path: objectPath(PODS, pod.metadata), body: NO_GRACE });
}

async function renewLeases(world: ClusterPart): Promise<void> {
  for (const { metadata } of world.nodes()) {
    const place = { name: metadata.name, namespace: 'kube-node-lease' };
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: place,
      spec: {
        holderIdentity: metadata.name,
        leaseDurationSeconds: 40,
        renewTime: new Date().toISOString().replace('Z', '000Z'),
      },
    };
    const path = `/apis/coordination.k8s.io/v1/namespaces/${place.namespace}/leases/${encodeURIComponent(place.name)}`;
    await world.send({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: 'kubelet' } });
  }
}

/** The kubelets of a history's nodes, and the agents of those without a real one. */
export interface Kubelets {
  /** Does for each pod what is due now. */
  look(): Promise<void>;
}

export function createKubelets(world: ClusterPart): Kubelets {
  const toldAt = new Map<string, number>();
  const known = new Map<string, Pod>();
  return {
    look: async () => {
      const bound = world.pods().filter((pod) => world.nodeNames.includes(pod.spec.nodeName ?? ''));
      const others = [...world.staticPods].filter((key) => Number(key.split('/')[1]) !== MACHINE_NODE);
      const nameOf = ([number, node]: readonly string[]): string => `s${number}-${world.nodeNames[Number(node)]}`;
      const statics = new Set(others.map((key) => nameOf(key.split('/'))));
      await Promise.all(
        bound.map((pod) => {
          const { name } = pod.metadata;
          const machine = { nodeName: world.nodeNames[MACHINE_NODE] ?? '' };
          const isLeftOver = /^s\d-/.test(name) && !statics.has(name) && !isMirrorOf(machine, name);
          return isLeftOver ? removeStaticPod(world, pod) : runPod(world, pod, toldAt);
        }),
      );
      for (const key of world.parked) if (!world.staticPods.has(key)) world.parked.delete(key);
      for (const key of others) await runStaticPod(world, key, known);
    },
  };
}

/** Plays the kubelets until the signal is aborted. */
export async function runKubelets(world: ClusterPart, signal: AbortSignal): Promise<void> {
  const kubelets = createKubelets(world);
  let renewedAt = 0;
  while (!signal.aborted) {
    if (Date.now() - renewedAt > LEASE_MS) {
      renewedAt = Date.now();
      await renewLeases(world);
    }
    await kubelets.look();
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
