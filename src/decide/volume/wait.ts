/**
 * What a drain does about the volumes of a node. When its pods are gone, the kubelet unmounts their volumes, and the attach/detach
 * controller begins to detach them, which needs no pod of the node: only then do the pods of drivers and of the network leave,
 * then static pods. There is one wait for all of them, and it ends: an attacher may be gone for ever.
 */
import type { NodeMaintenance, NodeStatus, VolumesInUse } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { isKept, keptBy } from '../kept-pods/kept-pods.ts';
import { recordedNode } from '../maintenance/recorded-node.ts';
import { usesDriver } from '../plugin-pods.ts';
import { drainPodOf } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';
import { namesWithin } from '../name-list.ts';

/** The attach/detach controller detaches by force after six minutes; a minute more is for the detachment itself. */
export const DEFAULT_VOLUME_WAIT_MS = 7 * 60_000;
/** The CRD takes no more names, and no longer ones. */
const MAX_NAMES = 20;
const MAX_NAME = 253;

/** The volumes that are left on a node when only pods are left that do not use them. */
export interface NodeVolumes {
  readonly names: readonly string[];
  /** Since when they are waited for, in milliseconds since the epoch. */
  readonly since: number;
  readonly isGivenUp: boolean;
  /** When they are given up, in milliseconds since the epoch; absent where they are, or where there are none. */
  readonly until?: number;
}

export const NO_VOLUMES: NodeVolumes = { names: [], since: 0, isGivenUp: false };

/** What is seen of a node. */
export interface VolumeFacts {
  /** Its pods that have not ended. */
  readonly pods: readonly Pod[];
  /** As `volumesOn` has them. */
  readonly names: readonly string[];
  /** Since when they are waited for, as was known before; asked for only where there are some. */
  readonly known: () => number | undefined;
  /** For how long they are waited for, in milliseconds; 0 for not at all. */
  readonly maxWaitMs: number;
  /** When nothing is waited for any more, in milliseconds since the epoch; undefined without a deadline. */
  readonly deadlineAt: number | undefined;
}

/** The volumes that a node says are mounted or attached, by their unique names. */
export function volumesOn(node: Pick<Node, 'status'> | undefined): readonly string[] {
  const { volumesInUse = [], volumesAttached = [] } = node?.status ?? {};
  return [...new Set([...volumesInUse, ...volumesAttached.map(({ name }) => name)])];
}

/** Whether volumes are not waited for yet while this pod is left: a static pod cannot use a claim. */
export function comesBeforeVolumes(pod: Pod): boolean {
  const { podType, order } = drainPodOf(pod);
  return podType !== 'Static' && order === undefined;
}

/** What the volumes of a node mean for the drain `now`, in milliseconds since the epoch. */
export function decideVolumes(
  maintenance: NodeMaintenance,
  { pods, names, known, maxWaitMs, deadlineAt = Infinity }: VolumeFacts,
  now: number,
): NodeVolumes {
  if (names.length === 0 || maxWaitMs === 0 || now >= deadlineAt) return NO_VOLUMES;
  const keep = keptBy(maintenance);
  // Whose volume is left is not known: where a pod stays that may have one, volumes are not waited for.
  const matters = (pod: Pod): boolean => usesDriver(pod) || !isKept(keep, drainPodOf(pod));
  if (pods.some((pod) => comesBeforeVolumes(pod) && matters(pod))) return NO_VOLUMES;
  const since = Math.min(known() ?? now, now);
  const isGivenUp = now >= since + maxWaitMs;
  if (isGivenUp) return { names, since, isGivenUp };
  return { names, since, isGivenUp, until: Math.min(deadlineAt, since + maxWaitMs) };
}

/** Whether the drain of the node has to wait for volumes. */
export function waitsForVolumes(volumes: NodeVolumes | undefined): volumes is NodeVolumes {
  return volumes !== undefined && volumes.names.length > 0 && !volumes.isGivenUp;
}

/** Whether volumes are on the node of which its maintenances have not said that they are given up. */
export function areVolumesLeft(node: Node, maintenances: readonly NodeMaintenance[]): boolean {
  if (volumesOn(node).length === 0) return false;
  const left = maintenances.flatMap(({ status }) => recordedNode(status, node.metadata)?.volumesInUse ?? []);
  return left.length === 0 || left.some(({ givenUp }) => givenUp !== true);
}

/** Since when the status of a node says that its volumes are waited for. */
export function recordedWait(status: NodeStatus | undefined): number | undefined {
  return timeOf(status?.volumesInUse?.since);
}

/** The volumes as the status of a node has them; undefined where none are left. */
export function volumesStatus({ names, since, isGivenUp }: NodeVolumes): VolumesInUse | undefined {
  if (names.length === 0) return undefined;
  const shown = names.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME));
  return { names: shown, since: rfc3339(since), ...(isGivenUp && { givenUp: true }) };
}

/** The volumes as a part of a sentence. */
export function describeVolumes(volumes: readonly NodeVolumes[]): string {
  return `the volumes ${namesWithin(volumes.flatMap(({ names }) => names).toSorted(), 256, 3)} to be unmounted and detached`;
}
