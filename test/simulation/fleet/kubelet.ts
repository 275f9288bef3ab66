/** The kubelet of a machine: starts and ends the pods of its node, by what it has heard of the API server and by its manifests. */
import { MIRROR_ANNOTATION } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isTerminal } from '../../../src/decide/pod.ts';
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, objectPath, PODS } from '../../../src/kube/resource.ts';
import type { Container } from './containers.ts';
import type { FleetMachine } from './machine.ts';
import type { Workload } from './settings.ts';

/** How long a container takes to be ready. */
const START_MS = 400;

/** What a kubelet needs of its cluster. */
export interface KubeletCluster {
  now(): number;
  pods(): readonly Pod[];
  /** Whether the machine reaches an API server. */
  isReached(machine: FleetMachine): boolean;
  send(request: KubeRequest): KubeResponse;
  workloadOf(pod: Pod): Workload | undefined;
  /** Asks for another look at that time. */
  lookAfter(ms: number): void;
}

/** Whether the API server says that the pod runs and is ready. */
function isToldReady({ status }: Pod): boolean {
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return isReady && status?.phase === 'Running';
}

function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

function runStaticPods({ manifests, containers }: FleetMachine): void {
  const inPlace = [...manifests.inPlace.values()];
  const own = containers.running().filter(({ source }) => source === 'file');
  for (const container of own) {
    if (!inPlace.some(({ podName }) => podName === container.name)) containers.tell(container, container.graceSec);
  }
  for (const { podName, namespace, sha256, graceSec, labels } of inPlace) {
    if (own.some(({ name }) => name === podName)) continue;
    const pod = { uid: sha256, namespace, name: podName, source: 'file' as const, labels, graceSec, endingMs: 300 };
    containers.start(pod);
  }
}

function startPod({ containers }: FleetMachine, pod: Pod, workload: Workload | undefined): void {
  const { uid = '', namespace = '', name, labels = {} } = pod.metadata;
  const graceSec = pod.spec.terminationGracePeriodSeconds ?? 30;
  const endingMs = workload?.endingMs ?? 200;
  containers.start({ uid, namespace, name, source: 'api', labels, graceSec, endingMs });
}

/** Starts, ends and tells of one pod of the API server. */
function runPod(cluster: KubeletCluster, machine: FleetMachine, pod: Pod, isReached: boolean): void {
  const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
  const container = machine.containers.running().find((each) => each.uid === uid);
  if (deletionTimestamp !== undefined) {
    if (container !== undefined) machine.containers.tell(container, deletionGracePeriodSeconds);
    else if (isReached) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
      cluster.send({ method: 'DELETE', path: objectPath(PODS, pod.metadata), body });
    }
    return;
  }
  if (isTerminal(pod)) return;
  if (container === undefined) {
    startPod(machine, pod, cluster.workloadOf(pod));
    cluster.lookAfter(START_MS);
    return;
  }
  if (!isReached || isToldReady(pod)) return;
  if (cluster.now() - container.createdAt < START_MS) cluster.lookAfter(START_MS);
  else report(cluster, pod);
}

function report(cluster: KubeletCluster, pod: Pod): void {
  const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  cluster.send({ method: 'PATCH', path: objectPath(PODS, pod.metadata, 'status'), body, patch: { kind: 'strategic' } });
}

function mirrorOf({ uid, name, namespace, labels }: Container, node: string): object {
  const annotations = {
    [MIRROR_ANNOTATION]: uid,
    'kubernetes.io/config.hash': uid,
    'kubernetes.io/config.source': 'file',
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations, labels },
    spec: {
      nodeName: node,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'none.invalid/none' }],
      priorityClassName: 'system-node-critical',
    },
  };
}

/** Keeps the API server's copies of static pods. */
function runMirrors(cluster: KubeletCluster, machine: FleetMachine): void {
  const own = machine.containers.running().filter(({ source }) => source === 'file');
  const mirrors = (machine.known ?? []).filter(isMirror);
  for (const { metadata } of mirrors) {
    if (own.some(({ name }) => name === metadata.name)) continue;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: metadata.uid },
    };
    cluster.send({ method: 'DELETE', path: objectPath(PODS, metadata), body });
  }
  for (const container of own) {
    const mirror = mirrors.find(({ metadata }) => metadata.name === container.name);
    if (mirror !== undefined && !isToldReady(mirror)) report(cluster, mirror);
    if (mirror !== undefined || container.toldAt !== undefined) continue;
    const path = collectionPath(PODS, container.namespace);
    cluster.send({ method: 'POST', path, body: mirrorOf(container, machine.name) });
    cluster.lookAfter(START_MS);
  }
}

/** Does what is due now; a kubelet without a container runtime does nothing. */
export function runKubelet(cluster: KubeletCluster, machine: FleetMachine): void {
  if (!machine.isKubeletUp() || !machine.containers.isUp()) return;
  const isReached = cluster.isReached(machine);
  if (isReached) machine.known = cluster.pods().filter(({ spec }) => spec.nodeName === machine.name);
  runStaticPods(machine);
  // A kubelet that was started without an API server touches no pod of it.
  if (machine.known === undefined) return;
  const others = machine.known.filter((pod) => !isMirror(pod));
  for (const pod of others) runPod(cluster, machine, pod, isReached);
  for (const container of machine.containers.running()) {
    const isKnown = others.some(({ metadata }) => metadata.uid === container.uid);
    if (container.source === 'api' && !isKnown) machine.containers.tell(container, container.graceSec);
  }
  if (isReached) runMirrors(cluster, machine);
}
