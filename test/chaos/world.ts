import { setTimeout as sleep } from 'node:timers/promises';
import type { EvictionRequest } from '../../src/api/eviction-request.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../src/api/pod.ts';
import type { KubeClient, KubeRequest } from '../../src/kube/client.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Machine } from './machine/machine.ts';
import type { Replicas } from './replicas.ts';
import type { Change, Kind, Objects, Timeline } from './timeline.ts';

/** What disturbed all histories. */
export interface Disturbance {
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly what: string;
}

/** What histories share: one control plane, its record, the replicas of the controller. */
export interface Cluster {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly timeline: Timeline;
  readonly replicas: Replicas;
  /** Runs something that disturbs all histories, while none of them is judged at rest; returns its outcome. */
  disturb(what: string, action: () => Promise<string>): Promise<string>;
  /** All that has disturbed the histories. */
  readonly disturbances: readonly Disturbance[];
  /** Runs something short that wants no disturbance. */
  inPeace<T>(action: () => Promise<T>): Promise<T>;
  /** When the consequences of the last disturbance are over, in milliseconds since the epoch. */
  disturbedAt(): number;
}

/** How the interceptors of a history behave: see stand-ins/interceptors.ts. */
export type InterceptorMode = 'works' | 'declines' | 'silent' | 'beats' | 'lies';

/** The part of a cluster that belongs to one history. */
export interface ClusterPart extends Disposable {
  /** The changes of the history's objects. */
  readonly changes: readonly Change[];
  /** The beginning of all names of the history. */
  readonly id: string;
  readonly nodeNames: readonly string[];
  /** The label by which maintenances select nodes. */
  readonly label: string;
  /** The namespaces; the second one may be deleted. */
  readonly namespaces: readonly [string, string];
  /** Pods that do not end when they are told to, by NAMESPACE/NAME. */
  readonly stuck: Set<string>;
  /** Static pods by their number and the number of their node, "0/1". */
  readonly staticPods: Set<string>;
  /** Static pods of nodes without a real agent whose manifests are moved away. */
  readonly parked: Set<string>;
  interceptors: InterceptorMode;
  /** Whether an object belongs to the history. */
  owns(object: KubeObject): boolean;
  nodes(): readonly Node[];
  pods(): readonly Pod[];
  maintenances(): readonly NodeMaintenance[];
  requests(): readonly EvictionRequest[];
  /** Sends a request as cluster admin; returns the HTTP status, or 0 where no API server answers for 20 s. */
  send(request: KubeRequest): Promise<number>;
}

/** The part of the cluster that belongs to one history. */
export interface World extends ClusterPart {
  readonly cluster: Cluster;
  /** The machine of the node that has the real agent. */
  readonly machine: Machine;
}

export const NODES_PER_HISTORY = 3;
/** The number of the node that has the real agent. */
export const MACHINE_NODE = 0;
/** A call waits so long for an API server that is away, or has not loaded its policies: some history restarts it. */
const UNREACHABLE_MS = 20_000;
const UNREACHABLE_AGAIN_MS = 200;
/** Makes the name of the last node longer than a label's value may be. */
const LONG = `.${'long-name-'.repeat(5)}x.example`;

/** The names of a history's nodes. */
export function nodeNamesOf(id: string): readonly string[] {
  const names = Array.from({ length: NODES_PER_HISTORY }, (_, index) => `${id}-n${index}`);
  return names.map((name, index) => (index === NODES_PER_HISTORY - 1 ? `${name}${LONG}` : name));
}

/** The beginning of the names of the maintenances that the agent of the history makes. */
export function shutdownPrefix(id: string): string {
  return `shutdown-${id}-`;
}

/** When the consequences of the last disturbance are over, of all histories or of this one alone. */
export function disturbedAt({ cluster, machine }: World): number {
  return Math.max(cluster.disturbedAt(), machine.disturbedAt());
}

/** Makes a part whose names begin with `id`; nothing is on the cluster yet. */
export function createPart(
  { timeline, client }: Pick<Cluster, 'client'> & { readonly timeline: Pick<Timeline, 'record' | 'list'> },
  id: string,
): ClusterPart {
  const namespaces = [id, `${id}-b`] as const;
  const owns = ({ metadata }: KubeObject): boolean =>
    metadata.namespace === undefined
      ? metadata.name.startsWith(`${id}-`) || metadata.name.startsWith(shutdownPrefix(id))
      : (namespaces as readonly string[]).includes(metadata.namespace);
  const list = <K extends Kind>(kind: K): readonly Objects[K][] => timeline.list(kind).filter(owns);
  const never = new AbortController().signal;
  const record = timeline.record(owns);
  return {
    changes: record.changes,
    id,
    nodeNames: nodeNamesOf(id),
    label: `chaos.example/${id}`,
    namespaces,
    stuck: new Set(),
    staticPods: new Set(),
    parked: new Set(),
    interceptors: 'works',
    owns,
    nodes: () => list('Node'),
    pods: () => list('Pod'),
    maintenances: () => list('NodeMaintenance'),
    requests: () => list('EvictionRequest'),
    send: async (request) => {
      const deadline = Date.now() + UNREACHABLE_MS;
      for (;;) {
        const status = await client.send(request, never).then(
          (answer) => answer.status,
          () => 0,
        );
        if ((status !== 0 && status !== 503) || Date.now() > deadline) return status;
        await sleep(UNREACHABLE_AGAIN_MS);
      }
    },
    [Symbol.dispose]: () => record.end(),
  };
}

/** Makes the part of a history. */
export function createWorld(cluster: Cluster, id: string, machine: Machine): World {
  return Object.assign(createPart(cluster, id), { cluster, machine });
}
