import { planOf } from '../maintenance/drain-plan.ts';
import { DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { type Deadline, type DueTiers, dueTiers, type GracefulPod, graceSecFor, othersUntil } from './tiers.ts';
import { stageOf } from '../maintenance/maintenance.ts';
import { parseNoticeTime } from '../time.ts';
import { drainPodOf, graceSecOf, isTerminal } from '../pod.ts';

/** The deadline of a maintenance; undefined where it has none that can be read. */
export function deadlineOf({ metadata }: NodeMaintenance): Deadline | undefined {
  const at = parseNoticeTime(metadata.annotations?.[DEADLINE_ANNOTATION] ?? '');
  if (at === undefined) return undefined;
  const told = parseNoticeTime(metadata.annotations?.[DEADLINE_SINCE_ANNOTATION] ?? '');
  const created = parseNoticeTime(metadata.creationTimestamp ?? '');
  return { at, since: told ?? created ?? at };
}

/** The drain with the earliest deadline of those of a node; undefined where none has one. */
export function earliestDeadline(
  maintenances: readonly NodeMaintenance[],
): { readonly maintenance: NodeMaintenance; readonly deadline: Deadline } | undefined {
  return maintenances
    .flatMap((maintenance) => {
      const deadline = stageOf(maintenance) === 'Drain' ? deadlineOf(maintenance) : undefined;
      return deadline === undefined ? [] : [{ maintenance, deadline }];
    })
    .toSorted((a, b) => a.deadline.at - b.deadline.at)[0];
}

/** The earliest deadline of the drains of each node; a node without one is not in it. */
export function earliestDeadlines(
  drains: readonly { readonly maintenance: NodeMaintenance; readonly nodes: readonly string[] }[],
): ReadonlyMap<string, Deadline> {
  const earliest = new Map<string, Deadline>();
  for (const { maintenance, nodes } of drains) {
    const deadline = deadlineOf(maintenance);
    if (deadline === undefined) continue;
    for (const node of nodes) {
      if (deadline.at < (earliest.get(node)?.at ?? Infinity)) earliest.set(node, deadline);
    }
  }
  return earliest;
}

/** The view of an API pod that the budget takes. */
function gracefulPodOf(pod: Pod): GracefulPod {
  const { podType, priority, labels } = drainPodOf(pod);
  const isTold = pod.metadata.deletionTimestamp !== undefined;
  return { podType, priority, labels, graceSec: graceSecOf(pod), isTold };
}

/**
 * The grace period in seconds with which a pod is to end `now`, in milliseconds since the epoch, where a deadline makes it
 * shorter than its own; undefined where it has its own. `pods` and `maintenances` are those of its node.
 */
export function shortenedGraceSec(
  pod: Pod,
  pods: readonly Pod[],
  maintenances: readonly NodeMaintenance[],
  now: number,
): number | undefined {
  const earliest = earliestDeadline(maintenances);
  if (earliest === undefined) return undefined;
  const { maintenance, deadline } = earliest;
  const left = pods.filter((each) => !isTerminal(each)).map(gracefulPodOf);
  const graceSec = graceSecFor(
    gracefulPodOf(pod),
    { pods: left, plan: maintenance.spec.drainPlan ?? [] },
    deadline,
    now,
  );
  return graceSec < graceSecOf(pod) ? graceSec : undefined;
}

/** The part of DeleteOptions that a deadline makes; empty where the pod has its own grace period. As `shortenedGraceSec`. */
export function endOptionsOf(
  pod: Pod,
  pods: readonly Pod[],
  maintenances: readonly NodeMaintenance[],
  now: number,
): { readonly gracePeriodSeconds?: number } {
  const gracePeriodSeconds = shortenedGraceSec(pod, pods, maintenances, now);
  return gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
}

/**
 * How far a deadline takes a drain of a node `now`, milliseconds since the epoch: that of any drain of the node, for all of them
 * end with the machine. `pods` are those of the node.
 */
export function dueTiersOf(
  maintenance: NodeMaintenance,
  deadline: Deadline | undefined,
  pods: readonly Pod[],
  now: number,
): DueTiers {
  if (deadline === undefined) return { position: 0 };
  const left = pods.filter((pod) => !isTerminal(pod)).map(gracefulPodOf);
  return dueTiers(planOf(maintenance), left, deadline, now);
}

/**
 * Until when the interceptors of a pod have time, in milliseconds since the epoch; undefined where no deadline presses.
 * `pods` and `maintenances` are those of its node.
 */
export function interceptorsUntil(
  pod: Pod,
  pods: readonly Pod[],
  maintenances: readonly NodeMaintenance[],
): number | undefined {
  const earliest = earliestDeadline(maintenances);
  if (earliest === undefined) return undefined;
  const left = pods.filter((each) => !isTerminal(each)).map(gracefulPodOf);
  const { maintenance, deadline } = earliest;
  return othersUntil(gracefulPodOf(pod), left, maintenance.spec.drainPlan ?? [], deadline);
}
