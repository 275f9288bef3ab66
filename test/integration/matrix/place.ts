/** The part of the cluster that belongs to one cell. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import { EVICT_WANTED_ANNOTATION } from '../../../src/api/names.ts';
import type { BlockingPod, NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import type { Kind, Objects, TimelineRecord } from '../../chaos/timeline.ts';
import type { Cell } from './cells.ts';
import type { MatrixRig } from './rig.ts';

/** A cell in the cluster. */
export interface Place {
  /** The name of the namespace, and the beginning of the names of nodes and maintenances. */
  readonly id: string;
  readonly cell: Cell;
  readonly rig: MatrixRig;
  /** The changes of its objects. */
  readonly record: TimelineRecord;
  /** Whether those who are waited for let the pod go now: its interceptor, its controller, who evicts it in the background. */
  isReleased: boolean;
  /** The node that is drained. */
  node: string;
  /** When the drain or the request was called off last, in milliseconds since the epoch; the next one begins later. */
  calledOffAt: number;
  /** When the next drain was asked for. */
  askedAgainAt: number;
  /** When everything was given back after it was called off. */
  quietAt: number;
  /** The pods that were not told to end when everything was given back, by UID: nobody may tell them later. */
  readonly staying: Set<string>;
}

/** Makes the place of a cell; nothing is on the cluster yet. */
export function createPlace(rig: MatrixRig, cell: Cell, id: string): Place {
  const owns = ({ metadata }: KubeObject): boolean => metadata.namespace === id || metadata.name.startsWith(`${id}-`);
  const never = { calledOffAt: Infinity, askedAgainAt: Infinity, quietAt: Infinity };
  const record = rig.timeline.record(owns);
  return { id, cell, rig, record, node: '', isReleased: false, staying: new Set(), ...never };
}

/** The name of the cell's first drain, or of the one that follows it. */
export function drainName({ id }: Place, which: 'first' | 'second'): string {
  return `${id}-${which}`;
}

function listed<K extends Kind>({ rig, id }: Place, kind: K): readonly Objects[K][] {
  return rig.timeline
    .list(kind)
    .filter(({ metadata }) => metadata.namespace === id || metadata.name.startsWith(`${id}-`));
}

export function podsIn(place: Place): readonly Pod[] {
  return listed(place, 'Pod');
}

/** The pods that nobody has told to end. */
export function stayingPods(place: Place): readonly Pod[] {
  return podsIn(place).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export function nodesIn(place: Place): readonly Node[] {
  return listed(place, 'Node');
}

export function maintenancesIn(place: Place): readonly NodeMaintenance[] {
  return listed(place, 'NodeMaintenance');
}

export function requestsIn(place: Place): readonly EvictionRequest[] {
  return listed(place, 'EvictionRequest');
}

/** What everybody who ends pods has said in the requests. */
export function saidIn(place: Place): string {
  const entries = requestsIn(place).flatMap(({ status }) => status?.interceptors ?? []);
  return entries.map(({ message = '' }) => message).join('\n');
}

/** The pods that the drain says it waits for, and why. */
export function blockingIn(place: Place): readonly BlockingPod[] {
  return maintenancesIn(place).flatMap(({ status }) =>
    (status?.nodeStatuses ?? []).flatMap(({ podsBlocking = [] }) => podsBlocking),
  );
}

/** Whether the pod is marked for its controller. */
export function isMarked({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.annotations?.[EVICT_WANTED_ANNOTATION] !== undefined;
}

/** Whether the pod's budget has a word in its end: it has no interceptor's, controller's or background's. */
export function isOfBudget({ metadata: { name } }: Pod): boolean {
  return !name.endsWith('-takeover') && !name.endsWith('-promise');
}
