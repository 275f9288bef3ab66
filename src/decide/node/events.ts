import { counted } from '../counted.ts';
import { type BlockingPod, DRAINED, type NodeMaintenanceStatus, WAIT_REASONS } from '../../api/node-maintenance.ts';
import { POD_TYPES } from '../maintenance/drain-plan.ts';
import { podName } from '../pod.ts';
import { WAIT_OF_REASON, whoEnds } from './waits.ts';
import { namesText } from '../drain/summary.ts';

/** What an Event of a NodeMaintenance says. */
interface DrainEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason:
    | 'TierBegun'
    | 'DrainWaiting'
    | 'DrainBlocked'
    | 'VolumesLeft'
    | 'VolumesGivenUp'
    | 'BudgetsNotAsked'
    | 'Drained';
  readonly message: string;
}

function drainedOf({ conditions = [] }: NodeMaintenanceStatus): { readonly is: string; readonly message: string } {
  const condition = conditions.find(({ type }) => type === DRAINED);
  return { is: `${condition?.status} ${condition?.reason}`, message: condition?.message ?? '' };
}

const TIERS = ['Default pods', 'DaemonSet pods', 'static pods'];

/** How far the furthest node of the drain is: the place of the last type of pods that its targets have, -1 before the first. */
function tierOf({ nodeStatuses = [], nodeGroups = [] }: NodeMaintenanceStatus): number {
  const targets = [...nodeStatuses, ...nodeGroups].flatMap(({ drainTargets = [] }) => drainTargets);
  return targets.reduce((furthest, { podType }) => Math.max(furthest, POD_TYPES.indexOf(podType)), -1);
}

/** The blocking pods by the reason for which they block. */
function blockingByReason(status: NodeMaintenanceStatus): ReadonlyMap<BlockingPod['reason'], readonly BlockingPod[]> {
  const all = (status.nodeStatuses ?? []).flatMap(({ podsBlocking = [] }) => podsBlocking);
  return Map.groupBy(all, ({ reason }) => reason);
}

/** The reasons that block now and did not before, each once for the whole maintenance; its status names every pod. */
export function newlyBlocked(before: NodeMaintenanceStatus, after: NodeMaintenanceStatus): readonly DrainEvent[] {
  const known = blockingByReason(before);
  return [...blockingByReason(after)]
    .filter(([reason]) => !known.has(reason))
    .map(([reason, pods]) => {
      const names = pods.map(podName).toSorted();
      const block = counted(names.length, 'pod blocks', 'pods block');
      // That an agent is missing says what to do; of other waits the union says who can.
      const remedy = reason === 'NoAgent' ? pods[0]?.message : whoEnds(WAIT_OF_REASON[reason]);
      const message = `${block} the drain by ${reason}: ${namesText(names)}${remedy === undefined ? '' : `; ${remedy}`}.`;
      return { type: 'Warning', reason: 'DrainBlocked', message };
    });
}

/** The names of the volumes for which the drain waits, or no longer does. */
function volumesOf({ nodeStatuses = [] }: NodeMaintenanceStatus, isGivenUp: boolean): readonly string[] {
  const all = nodeStatuses.flatMap(({ volumesInUse }) => volumesInUse ?? []);
  return all.filter(({ givenUp = false }) => givenUp === isGivenUp).flatMap(({ names }) => names);
}

/** That the drain waits for volumes, and that it does not wait for some any more: each once for the whole maintenance. */
function volumeEvents(before: NodeMaintenanceStatus, after: NodeMaintenanceStatus): readonly DrainEvent[] {
  const begun = (isGivenUp: boolean): readonly string[] => {
    return volumesOf(before, isGivenUp).length > 0 ? [] : volumesOf(after, isGivenUp).toSorted();
  };
  const [waits, givenUp] = [begun(false), begun(true)];
  const events: DrainEvent[] = [];
  if (waits.length > 0) {
    const message = `The drain waits until volumes are unmounted and detached: ${namesText(waits)}.`;
    events.push({ type: 'Normal', reason: 'VolumesLeft', message });
  }
  if (givenUp.length > 0) {
    const message = `The drain no longer waits for volumes that stay on their node: ${namesText(givenUp)}.`;
    events.push({ type: 'Warning', reason: 'VolumesGivenUp', message });
  }
  return events;
}

/** What is reported when the status of a drain has changed from `before` to `after`, in the order in which it happened. */
export function drainEvents(
  before: NodeMaintenanceStatus | undefined,
  after: NodeMaintenanceStatus,
): readonly DrainEvent[] {
  const events: DrainEvent[] = [];
  const { is, message } = drainedOf(after);
  const wasSo = drainedOf(before ?? {}).is === is;
  if (!wasSo && WAIT_REASONS.some((reason) => is === `False ${reason}`))
    events.push({ type: 'Normal', reason: 'DrainWaiting', message });
  const isAlone = (status: NodeMaintenanceStatus | undefined): boolean =>
    status?.nodeStatuses?.some(({ budgetsNotAsked }) => budgetsNotAsked === true) === true;
  if (!isAlone(before) && isAlone(after)) {
    const why = 'the machine goes down, and no other node stays (Ready, not going down for good)';
    events.push({ type: 'Warning', reason: 'BudgetsNotAsked', message: `PodDisruptionBudgets are not asked: ${why}.` });
  }
  const tier = tierOf(after);
  const isOver = is === 'True DrainCompleted';
  // The first type of pods is the beginning; of the others, a drain that is over has passed those of which there are no pods.
  if (!isOver && tier > Math.max(0, tierOf(before ?? {}))) {
    const message = `The drain has come to ${TIERS[tier]}.`;
    events.push({ type: 'Normal', reason: 'TierBegun', message });
  }
  events.push(...newlyBlocked(before ?? {}, after), ...volumeEvents(before ?? {}, after));
  if (!wasSo && isOver) events.push({ type: 'Normal', reason: 'Drained', message });
  return events;
}
