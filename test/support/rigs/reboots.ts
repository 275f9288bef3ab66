/** Machines that reboot, as a cluster sees them: kubelets and agents are played, everything else is real. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BOOT_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../src/api/names.ts';
import { DRAINED, type NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { isHealthy } from '../../../src/decide/maintenance/control-plane-members.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { createAsNode } from '../maintenance/node-writes.ts';
import { ownMaintenanceOf } from '../maintenance/objects.ts';
import type { EvictionRig } from './eviction.ts';

const LOOK_MS = 100;
/** How long a machine is away. */
const BOOT_MS = 1_500;
const LEASE_MS = 5_000;
const ROOM = { pods: '110', cpu: '8', memory: '8Gi' };

/** What is seen at one moment. */
export interface Moment {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly maintenances: readonly NodeMaintenance[];
}

/** The machines of a test. */
export interface Machines extends AsyncDisposable {
  /** Asks all of them to reboot at once, as their agents do; returns the names of the NodeMaintenances. */
  reboot(nodes: readonly string[], annotations?: Readonly<Record<string, string>>): Promise<readonly string[]>;
  /** Those that do not come back once they are drained. */
  readonly lost: Set<string>;
  /** How often each machine was booted. */
  readonly boots: ReadonlyMap<string, number>;
  look(): Promise<Moment>;
}

function isTrue(maintenance: NodeMaintenance, type: string): boolean {
  return maintenance.status?.conditions?.some((each) => each.type === type && each.status === 'True') === true;
}

/** The reason and the message of the condition Drained. */
export function drainedOf(maintenance: NodeMaintenance | undefined): string {
  const found = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
  return found === undefined ? '' : `${found.reason}: ${found.message}`;
}

/** Creates the machines with their Node objects, and plays them until they are disposed of. */
export async function startMachines(
  rig: Pick<EvictionRig, 'client' | 'controlPlane'>,
  names: readonly string[],
): Promise<Machines> {
  const { client } = rig;
  const stopping = new AbortController();
  const { signal } = stopping;
  const lost = new Set<string>();
  const boots = new Map(names.map((name) => [name, 0]));
  const awaySince = new Map<string, number>();
  let leasesAt = -Infinity;

  const send = <T>(request: KubeRequest): Promise<T | undefined> =>
    sendForObject<T>(client, request, [404, 409], signal);
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await send<{ readonly items: readonly T[] }>({ method: 'GET', path }))?.items ?? [];
  const look = async (): Promise<Moment> => {
    const [nodes, pods] = await Promise.all([list<Node>(collectionPath(NODES)), list<Pod>(collectionPath(PODS))]);
    // After the nodes: a node is cordoned after the beginning of its drain was written.
    const maintenances = await list<NodeMaintenance>(collectionPath(NODE_MAINTENANCES));
    return { nodes: nodes.filter(({ metadata }) => names.includes(metadata.name)), pods, maintenances };
  };

  const bootIdOf = (name: string): string => `${name}-boot-${boots.get(name) ?? 0}`;
  const report = async (name: string, isReady: boolean): Promise<void> => {
    const now = new Date().toISOString();
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', reason: 'Test', message: '', ...times }];
    const body = { status: { capacity: ROOM, allocatable: ROOM, conditions, nodeInfo: { bootID: bootIdOf(name) } } };
    await send({ method: 'PATCH', path: objectPath(NODES, { name }, 'status'), body, patch: { kind: 'strategic' } });
  };
  const runPod = async (pod: Pod): Promise<void> => {
    const { metadata, status } = pod;
    if (metadata.deletionTimestamp !== undefined) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
      await send({ method: 'DELETE', path: objectPath(PODS, metadata), body });
    } else if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') !== true) {
      const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      await send({ method: 'PATCH', path: objectPath(PODS, metadata, 'status'), body, patch: { kind: 'strategic' } });
    }
  };
  const runMachine = async (node: Node, { pods, maintenances }: Moment): Promise<void> => {
    const { name } = node.metadata;
    const away = awaySince.get(name);
    if (away !== undefined) {
      if (lost.has(name) || Date.now() - away < BOOT_MS) return;
      boots.set(name, (boots.get(name) ?? 0) + 1);
      awaySince.delete(name);
      await report(name, true);
      return;
    }
    const isDrained = maintenances.some(
      (each) =>
        each.metadata.annotations?.[BOOT_ANNOTATION] === bootIdOf(name) &&
        each.spec.stage === 'Drain' &&
        isTrue(each, DRAINED),
    );
    if (isDrained) {
      awaySince.set(name, Date.now());
      await report(name, false);
      return;
    }
    if (!isHealthy(node)) await report(name, true);
    await Promise.all(pods.filter(({ spec }) => spec.nodeName === name).map(runPod));
  };
  /** Without a Lease that is renewed, Kubernetes takes a node for lost. */
  const renew = async (): Promise<void> => {
    if (performance.now() - leasesAt < LEASE_MS) return;
    leasesAt = performance.now();
    for (const name of names) {
      if (lost.has(name) && awaySince.has(name)) continue;
      const place = { name, namespace: 'kube-node-lease' };
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      const body = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: place,
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
      };
      const path = `/apis/coordination.k8s.io/v1/namespaces/${place.namespace}/leases/${name}`;
      await send({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: 'kubelet' } });
    }
  };
  const play = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await renew();
        const moment = await look();
        await Promise.all(moment.nodes.map((node) => runMachine(node, moment)));
      } catch {
        // The API server is busy, or the test is over.
      }
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  for (const name of names) {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
    await send({ method: 'POST', path: collectionPath(NODES), body });
    await report(name, true);
  }
  const playing = play();
  return {
    lost,
    boots,
    look,
    reboot: async (nodes, annotations = {}) => {
      const made = nodes.map((node) => {
        const name = `shutdown-${node}-${boots.get(node) ?? 0}`;
        const said = { [BOOT_ANNOTATION]: bootIdOf(node), [SHUTDOWN_KIND_ANNOTATION]: 'reboot', ...annotations };
        return { node, name, body: ownMaintenanceOf(node, { name, annotations: said }) };
      });
      await Promise.all(made.map(({ node, body }) => createAsNode(rig.controlPlane, node, body)));
      return made.map(({ name }) => name);
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await playing;
    },
  };
}
