/**
 * What a drain does about the volumes of a node. When its pods are gone, the kubelet unmounts their volumes, and the
 * attach/detach controller and the driver detach them: only then is the node drained, and only then may the pods of the
 * driver leave, which do the work. Each volume is waited for only for some time: an attacher may be gone for ever.
 */
import { counted } from '../counted.ts';
import type { NodeStatus, VolumeLeft } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { podTypeOf } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';
import { pluginNamesOf, registersPlugin, usesDriver } from '../plugin-pods.ts';
import type { PresentVolume } from './present.ts';

/** The attach/detach controller detaches by force after six minutes; a minute more is for the detachment itself. */
export const DEFAULT_VOLUME_WAIT_MS = 7 * 60_000;
/** The kubelet reports its volumes every ten seconds: a pod that waits for them for less than this time is not reported. */
export const ORDINARY_WAIT_MS = 30_000;
/** The CRD takes no more. */
const MAX_LEFT = 20;

/** A volume that is waited for, or was for as long as it may be. */
export interface WaitedVolume extends PresentVolume {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly isGivenUp: boolean;
}

/** A pod of a driver that stays for now. */
export interface DriverPod {
  /** The volumes that need it; none while pods are left that use volumes. */
  readonly volumes: readonly WaitedVolume[];
}

/** What the volumes of a node mean for its drain. */
export interface NodeVolumes {
  /** Those that are left when all pods but static ones and those of drivers are gone. */
  readonly left: readonly WaitedVolume[];
  /** The pods of drivers that stay although they are targeted, by their UIDs. */
  readonly staying: ReadonlyMap<string, DriverPod>;
  /** When the next of them is given up, in milliseconds since the epoch; absent where none is. */
  readonly nextAt?: number;
}

export const NO_VOLUMES: NodeVolumes = { left: [], staying: new Map() };

/** What is seen of a node. */
export interface VolumeFacts {
  /** Its pods that have not ended. */
  readonly pods: readonly Pod[];
  readonly present: readonly PresentVolume[];
  /** Since when each volume is waited for, as was known before, by `volumeKey`; asked for only where some are. */
  readonly known: () => ReadonlyMap<string, number>;
  /** For how long each of them is waited for, in milliseconds; 0 for not at all. */
  readonly maxWaitMs: number;
  /** When nothing is waited for any more, in milliseconds since the epoch; Infinity without a deadline. */
  readonly deadlineAt: number;
  /** Whether a deadline leaves the pod no more time to stay. */
  readonly isDue: (pod: Pod) => boolean;
}

/** The same for a volume while it is unmounted and then detached. */
export function volumeKey({ driver, name }: Pick<VolumeLeft, 'driver' | 'name'>): string {
  return `${driver} ${name}`;
}

/** Since when each volume is waited for, as the status of a node has recorded it. */
export function recordedWaits(status: NodeStatus | undefined): ReadonlyMap<string, number> {
  return new Map(
    (status?.volumesLeft ?? []).flatMap((each) => {
      const since = timeOf(each.since);
      return since === undefined ? [] : [[volumeKey(each), since]];
    }),
  );
}

/** The volumes as the status of a node has them: those that were waited for first come first. */
export function volumesLeftStatus({ left }: NodeVolumes): readonly VolumeLeft[] {
  const sorted = left.toSorted((a, b) => a.since - b.since);
  return sorted.slice(0, MAX_LEFT).map(({ name, driver, waitsFor, since, isGivenUp, message }) => {
    return {
      name,
      driver,
      waitsFor,
      since: rfc3339(since),
      ...(isGivenUp && { givenUp: true }),
      ...(message && { message }),
    };
  });
}

/** Whether the drain of the node has to wait for a volume. */
export function waitsForVolumes(volumes: NodeVolumes | undefined): boolean {
  return volumes?.left.some(({ isGivenUp }) => !isGivenUp) === true;
}

/** The pods of drivers with what needs them. Where no pod says that it runs a volume's driver, each of them may. */
function driverPods(facts: VolumeFacts, left: readonly WaitedVolume[], mayBegin: boolean): NodeVolumes['staying'] {
  const drivers = facts.pods.filter((pod) => podTypeOf(pod) === 'DaemonSet' && registersPlugin(pod));
  const claimed = new Set(drivers.flatMap(pluginNamesOf));
  const staying = new Map<string, DriverPod>();
  for (const pod of drivers) {
    if (pod.metadata.deletionTimestamp !== undefined || facts.isDue(pod)) continue;
    const own = new Set(pluginNamesOf(pod));
    const volumes = left.filter(({ driver, isGivenUp }) => !isGivenUp && (own.has(driver) || !claimed.has(driver)));
    if (!mayBegin || volumes.length > 0) staying.set(pod.metadata.uid ?? '', { volumes });
  }
  return staying;
}

/**
 * Whether volumes are not waited for yet while this pod is left on the node. A static pod cannot use a claim, and pods of
 * drivers are not waited for: two could wait for each other.
 */
export function comesBeforeVolumes(pod: Pod): boolean {
  return podTypeOf(pod) !== 'Static' && !registersPlugin(pod);
}

/** What the volumes of a node mean for its drain `now`, in milliseconds since the epoch. */
export function decideVolumes(facts: VolumeFacts, now: number): NodeVolumes {
  const { pods, present, known, maxWaitMs, deadlineAt } = facts;
  if (maxWaitMs === 0 || now >= deadlineAt) return NO_VOLUMES;
  const others = pods.filter(comesBeforeVolumes);
  if (others.length > 0) {
    return { ...NO_VOLUMES, staying: driverPods(facts, [], !others.some(usesDriver) && present.length === 0) };
  }
  const before = present.length === 0 ? undefined : known();
  const left = present.map((volume): WaitedVolume => {
    const since = Math.min(before?.get(volumeKey(volume)) ?? now, now);
    return { ...volume, since, isGivenUp: now >= since + maxWaitMs };
  });
  const ends = left.filter(({ isGivenUp }) => !isGivenUp).map(({ since }) => since + maxWaitMs);
  const staying = driverPods(facts, left, true);
  return ends.length === 0 ? { left, staying } : { left, staying, nextAt: Math.min(deadlineAt, ...ends) };
}

/** The volumes in a sentence's part, such as "pvc-1 of DRIVER to be unmounted (and 2 more volumes)". */
export function describeVolumes(volumes: readonly PresentVolume[]): string {
  const [first] = volumes;
  if (first === undefined) return 'none';
  const done = first.waitsFor === 'Unmount' ? 'unmounted' : 'detached';
  const said = first.message === undefined ? '' : `: ${first.message}`;
  const more = volumes.length - 1;
  const rest = more === 0 ? '' : ` (and ${counted(more, 'more volume', 'more volumes')})`;
  return `${first.name} of ${first.driver} to be ${done}${rest}${said}`;
}
