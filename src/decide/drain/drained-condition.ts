/** The condition Drained of a maintenance: its status, its reason and its text. */
import { counted } from '../counted.ts';
import type { Condition } from '../../api/meta.ts';
import { DRAINED, type NodeMaintenance } from '../../api/node-maintenance.ts';
import { shortened } from '../../printable.ts';
import { describeStaying } from '../staying-pod/staying-pods.ts';
import { rfc3339 } from '../time.ts';
import { describeVolumes, waitsForVolumes } from '../volume/wait.ts';
import type { DrainResolution } from './resolution.ts';

/** A condition has room for the names of some pods beside the rest, in characters. */
const MAX_STAYING = 1_000;

/** What the Drained condition says of a drain. */
interface DrainOutcome {
  readonly drained: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What the condition says of a drain in this state. */
export function drainOutcome({ status }: NodeMaintenance, { nodes, drained }: DrainResolution): DrainOutcome {
  if (nodes.length === 0) {
    // What was drained stays so when its Node objects are deleted, which is what an autoscaler does next.
    const wasDrained = status?.conditions?.some(({ type, status: is }) => type === DRAINED && is === 'True') === true;
    return wasDrained
      ? {
          drained: true,
          reason: 'DrainCompleted',
          message: 'All pods are gone; the node selector selects no node any more.',
        }
      : { drained: false, reason: 'NoNodes', message: 'The node selector selects no node.' };
  }
  const volumes = nodes.flatMap((node) =>
    node.volumes === undefined || node.volumes.names.length === 0 ? [] : [node.volumes],
  );
  const staying = describeStaying(
    nodes.flatMap(({ evicting, pending, kept = [] }) => [...evicting, ...pending, ...kept]),
  );
  const gone =
    staying === undefined
      ? 'All pods are gone.'
      : `All pods that can leave are gone. What stays: ${shortened(staying, MAX_STAYING)}.`;
  const givenUp = volumes.length === 0 ? '' : ` The drain no longer waits for ${describeVolumes(volumes)}.`;
  if (drained) return { drained, reason: 'DrainCompleted', message: `${gone}${givenUp}` };
  const leaving = nodes.filter(({ evicting, pending }) => evicting.length + pending.length > 0);
  const [guard] = leaving.map((node) => node.guard);
  if (guard !== undefined && leaving.every((node) => node.guard !== undefined))
    return { drained, reason: 'WaitingForControlPlane', message: guard };
  const left = nodes.reduce((sum, { evicting, pending }) => sum + evicting.length + pending.length, 0);
  const waits = volumes.filter(waitsForVolumes);
  const wait = waits.length === 0 ? '' : `The drain waits for ${describeVolumes(waits)}.`;
  const pods = left === 0 ? gone : `${counted(left, 'pod is', 'pods are')} left.`;
  return { drained, reason: 'Draining', message: wait === '' ? pods : `${pods} ${wait}` };
}

/** A Drained condition that keeps the time of its last change. */
export function drainedCondition(
  maintenance: NodeMaintenance,
  { drained, reason, message }: DrainOutcome,
  now: number,
): readonly Condition[] {
  const conditions = maintenance.status?.conditions ?? [];
  const status = drained ? 'True' : 'False';
  const old = conditions.find(({ type }) => type === DRAINED);
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : rfc3339(now);
  const fresh: Condition = { type: DRAINED, status, reason, message, lastTransitionTime };
  return [...conditions.filter(({ type }) => type !== DRAINED), fresh];
}
