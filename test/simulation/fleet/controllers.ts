/** What Kubernetes does in a fleet beside its kubelets: pods are made anew and placed, nodes fall silent, budgets are counted. */
import { objectPath, collectionPath, NODES, PODS } from '../../../src/kube/resource.ts';
import type { Node } from '../../../src/api/pod.ts';
import { isTerminal, podTypeOf } from '../../../src/decide/pod.ts';
import { INTERCEPTOR_ANNOTATION_PREFIXES } from '../../../src/api/names.ts';
import { ACTOR } from '../../chaos/objects.ts';
import type { Random } from '../../chaos/random.ts';
import type { KubeletCluster } from './kubelet.ts';
import type { FleetMachine } from './machine.ts';
import type { Workload } from './settings.ts';

/** A node whose kubelet is not heard for so long is not Ready, and so long after that it loses its pods. */
const SILENT_MS = 40_000;
const LOST_MS = 300_000;

/** The cluster as its controllers see it. */
export interface ControlledCluster extends KubeletCluster {
  readonly random: Random;
  readonly machines: readonly FleetMachine[];
  readonly workloads: readonly Workload[];
  nodes(): readonly Node[];
}

/** The node as the kubelet registers it. */
export function nodeOf(name: string, isMember: boolean): object {
  const role = isMember ? { 'node-role.kubernetes.io/control-plane': '' } : {};
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...role } },
    status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { bootID: '' } },
  };
}

/** A pod of a workload, which no node has yet. */
function podOf(workload: Workload, name: string, machines: readonly FleetMachine[]): object {
  const { role, graceSec, priorityClassName, pinnedTo, hasInterceptor, namespace } = workload;
  const label = role === 'controller' ? { 'app.kubernetes.io/name': 'nodemaint-controller' } : {};
  const kind = workload.isStateful ? 'StatefulSet' : 'ReplicaSet';
  const owner = { apiVersion: 'apps/v1', kind, name: workload.name, uid: `uid-${workload.name}`, controller: true };
  const pinned = pinnedTo === undefined ? undefined : machines[pinnedTo]?.name;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { app: workload.name, ...label },
      ownerReferences: [owner],
      ...(hasInterceptor
        ? { annotations: { [`${INTERCEPTOR_ANNOTATION_PREFIXES[0]}${ACTOR}`]: '20000/controller' } }
        : {}),
    },
    spec: {
      containers: [{ name: 'main', image: 'none.invalid/none' }],
      terminationGracePeriodSeconds: graceSec,
      ...(priorityClassName === '' ? {} : { priorityClassName }),
      ...(pinned === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': pinned } }),
    },
  };
}

/** Makes the pods that a workload lacks. */
function replace(cluster: ControlledCluster, workload: Workload): void {
  const own = cluster
    .pods()
    .filter(({ metadata }) => metadata.namespace === workload.namespace && metadata.labels?.['app'] === workload.name);
  const path = collectionPath(PODS, workload.namespace);
  const make = (name: string): void => {
    cluster.send({ method: 'POST', path, body: podOf(workload, name, cluster.machines) });
  };
  if (workload.isStateful) {
    for (let index = 0; index < workload.replicas; index += 1) {
      const name = `${workload.name}-${index}`;
      if (!own.some(({ metadata }) => metadata.name === name)) make(name);
    }
    return;
  }
  const counted = own.filter((pod) => pod.metadata.deletionTimestamp === undefined && !isTerminal(pod));
  for (let count = counted.length; count < workload.replicas; count += 1) {
    make(`${workload.name}-${cluster.random.whole(1e9).toString(36)}`);
  }
}

function isReadyNode({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/** Binds pods that wait for a node. */
function schedule(cluster: ControlledCluster): void {
  for (const pod of cluster.pods()) {
    if (pod.spec.nodeName !== undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const wanted = Object.entries(pod.spec.nodeSelector ?? {});
    const fitting = cluster
      .nodes()
      .filter((node) => isReadyNode(node) && node.spec?.unschedulable !== true)
      .filter(({ metadata }) => wanted.every(([label, value]) => metadata.labels?.[label] === value));
    const [first, ...rest] = fitting;
    if (first === undefined) continue;
    const nodeName = cluster.random.pick([first, ...rest]).metadata.name;
    const path = objectPath(PODS, pod.metadata);
    cluster.send({ method: 'PATCH', path, body: { spec: { nodeName } }, patch: { kind: 'merge' } });
  }
}

function setReady(cluster: ControlledCluster, name: string, status: 'True' | 'Unknown', bootID: string): void {
  const lastTransitionTime = new Date(cluster.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const body = { status: { conditions: [{ type: 'Ready', status, lastTransitionTime }], nodeInfo: { bootID } } };
  const path = objectPath(NODES, { name }, 'status');
  cluster.send({ method: 'PATCH', path, body, patch: { kind: 'strategic' } });
}

/** The pods of a node that is not Ready are not ready, and are deleted after a while. */
function loseNode(cluster: ControlledCluster, { name, heardAt }: FleetMachine): void {
  const isLost = cluster.now() - heardAt > LOST_MS;
  for (const pod of cluster.pods().filter(({ spec }) => spec.nodeName === name)) {
    const isToldReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isToldReady === true) {
      const body = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
      const path = objectPath(PODS, pod.metadata, 'status');
      cluster.send({ method: 'PATCH', path, body, patch: { kind: 'strategic' } });
    }
    if (isLost && podTypeOf(pod) === 'Default' && pod.metadata.deletionTimestamp === undefined) {
      cluster.send({ method: 'DELETE', path: objectPath(PODS, pod.metadata) });
    }
  }
}

/** Renews what kubelets renew, and notices those that do not. */
function watchNodes(cluster: ControlledCluster): void {
  for (const machine of cluster.machines) {
    const node = cluster.nodes().find(({ metadata }) => metadata.name === machine.name);
    if (machine.isKubeletUp() && cluster.isReached(machine)) {
      machine.heardAt = cluster.now();
      const spec = { renewTime: new Date(cluster.now()).toISOString().replace('Z', '000Z') };
      const metadata = { name: machine.name, namespace: 'kube-node-lease' };
      cluster.send({
        method: 'PATCH',
        path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${machine.name}`,
        body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
        patch: { kind: 'apply', manager: 'kubelet' },
      });
      const isNew = node?.status?.nodeInfo?.bootID !== machine.bootId;
      if (node !== undefined && (isNew || !isReadyNode(node))) setReady(cluster, machine.name, 'True', machine.bootId);
    } else if (cluster.now() - machine.heardAt > SILENT_MS) {
      if (node !== undefined && isReadyNode(node)) {
        setReady(cluster, machine.name, 'Unknown', node.status?.nodeInfo?.bootID ?? '');
      }
      loseNode(cluster, machine);
    }
  }
}

/** Notes each cordon as a taint, as the node lifecycle controller does. */
function noteCordons(cluster: ControlledCluster): void {
  const key = 'node.kubernetes.io/unschedulable';
  for (const { metadata, spec } of cluster.nodes()) {
    const isNoted = spec?.taints !== undefined;
    if (isNoted === (spec?.unschedulable === true)) continue;
    const taints = isNoted ? null : [{ key, effect: 'NoSchedule', timeAdded: new Date(cluster.now()).toISOString() }];
    cluster.send({
      method: 'PATCH',
      path: objectPath(NODES, metadata),
      body: { spec: { taints } },
      patch: { kind: 'merge' },
    });
  }
}

/** Does what these controllers have to do now. */
export function runControllers(cluster: ControlledCluster): void {
  watchNodes(cluster);
  noteCordons(cluster);
  for (const workload of cluster.workloads) replace(cluster, workload);
  schedule(cluster);
}
