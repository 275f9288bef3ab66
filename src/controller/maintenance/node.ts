import { CORDONED_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import { isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { decideNodeConditions } from '../../decide/maintenance/node-conditions.ts';
import { rfc3339 } from '../../decide/time.ts';
import { syncCordon } from '../../kube/maintenance/cordon.ts';
import { NODES, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';

/**
 * Keeps a node cordoned while a maintenance wants it, and reports in its conditions how far the drain is (KEP-4212, "Cordon", "Uncordon";
 * the standard conditions of KEP-5683).
 */
export async function reconcileNode(
  context: ControllerContext,
  node: Node,
  isEmpty: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = context;
  const { name } = node.metadata;
  const own = context.maintenances.list().filter((each) => isInProgress(each) && selectsNode(each, node));
  const maintenances = own.map(({ metadata }) => metadata.name).toSorted();
  const draining = own.filter((each) => stageOf(each) === 'Drain').map(({ metadata }) => metadata.name);
  if ((await syncCordon(client, { node, wantedBy: maintenances }, signal)) === 'changed') {
    log.info({ node: name, maintenances }, maintenances.length > 0 ? 'cordoned node' : 'uncordoned node');
    // The annotation says that it was cordoned for a maintenance before.
    if (maintenances.length > 0 && node.metadata.annotations?.[CORDONED_ANNOTATION] !== undefined) {
      const message = `Node ${name} was uncordoned during maintenance (${maintenances.join(', ')}); cordoned again. Complete the maintenance to uncordon it.`;
      const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
      context.events.record(subject, { type: 'Warning', reason: 'CordonReverted', message });
    }
  }
  const drained = draining.length > 0 && isEmpty;
  const now = rfc3339(clock.now());
  const conditions = decideNodeConditions(node, { maintenances, draining, drained }).map((condition) => ({
    ...condition,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }));
  if (conditions.length === 0) return;
  const path = objectPath(NODES, node.metadata, 'status');
  const patch = { kind: 'strategic' } as const;
  await sendForObject(client, { method: 'PATCH', path, body: { status: { conditions } }, patch }, [404], signal);
}
