import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isInProgress } from '../../decide/maintenance/maintenance.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import { isReady } from '../../decide/pod.ts';
import type { ControllerContext } from '../context.ts';
import { hasDeadline } from '../deadline.ts';

/**
 * For so long the last replica stays for pods of other nodes, in milliseconds: without a controller nobody asks their
 * interceptors, and a machine is not held for ever by what happens on others.
 */
export const LAST_REPLICA_MS = 5 * 60_000;

/** Whether the pod is a replica that goes on when this one is gone. */
function goesOn({ maintenances }: ControllerContext, other: Pod, leaving: Pod): boolean {
  const { nodeName } = other.spec;
  if (!isOwnController(other) || other.metadata.uid === leaving.metadata.uid || nodeName === undefined) return false;
  if (other.metadata.deletionTimestamp !== undefined || !isReady(other)) return false;
  return !maintenances.on(nodeName).some(isInProgress);
}

/**
 * A node whose drain still needs the controller, where this pod is a replica and no other one goes on; undefined where none
 * does. Only pods that are still to be asked count, and a deadline leaves no time for them.
 */
export function neededOn(context: ControllerContext, pod: Pod): string | undefined {
  const { nodeName = '' } = pod.spec;
  if (!isOwnController(pod) || hasDeadline(context, nodeName)) return undefined;
  if (context.pods.list().some((other) => goesOn(context, other, pod))) return undefined;
  for (const request of context.requests.list()) {
    const target = context.pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`);
    if (target === undefined || isFinished(request) || isOwnController(target)) continue;
    const { nodeName: other } = target.spec;
    if (other === undefined || other === nodeName || target.metadata.deletionTimestamp !== undefined) continue;
    return other;
  }
  return undefined;
}
