import { CORDONED_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import { decideNodeConditions, type NodeState } from '../../decide/maintenance/node-conditions.ts';
import { nodeStateOf } from '../../decide/maintenance/retention.ts';
import { rfc3339 } from '../../decide/time.ts';
import { syncCordon } from '../../kube/maintenance/cordon.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { NODES, objectPath, sendForObject } from '../../kube/resource.ts';
import type { PodIndex } from '../cache/pods-by-node.ts';
import type { ControllerContext } from '../context.ts';
import type { Refusals } from './refusals.ts';

/**
 * Keeps the node cordoned while a maintenance wants it, and gives it back when none does (KEP-4212, "Cordon", "Uncordon").
 * Returns whether it has changed the node.
 */
async function keepCordon(
  { client, events, log }: ControllerContext,
  node: Node,
  maintenances: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const { name } = node.metadata;
  if ((await syncCordon(client, { node, wantedBy: maintenances }, signal)) !== 'changed') return false;
  log.info({ node: name, maintenances }, maintenances.length > 0 ? 'cordoned node' : 'uncordoned node');
  // The annotation says that it was cordoned for a maintenance before.
  if (maintenances.length > 0 && node.metadata.annotations?.[CORDONED_ANNOTATION] !== undefined) {
    const message = `Node ${name} was uncordoned during maintenance (${maintenances.join(', ')}); cordoned again. Complete the maintenance to uncordon it.`;
    const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
    events.record(subject, { type: 'Warning', reason: 'CordonReverted', message });
  }
  return true;
}

/** Reports in the conditions of the node how far its drain is (KEP-5683). */
async function reportConditions(
  { client, clock }: ControllerContext,
  node: Node,
  state: NodeState,
  signal: AbortSignal,
): Promise<void> {
  const now = rfc3339(clock.now());
  const conditions = decideNodeConditions(node, state).map((condition) => {
    const present = node.status?.conditions?.find(({ type }) => type === condition.type);
    // The patch leaves the time of the last change where the status stays as it is.
    const transition = present?.status === condition.status ? {} : { lastTransitionTime: now };
    return { ...condition, lastHeartbeatTime: now, ...transition };
  });
  if (conditions.length === 0) return;
  const path = objectPath(NODES, node.metadata, 'status');
  // The version guards what somebody else has set meanwhile; the node that has changed comes back into the queue.
  const body = { metadata: { resourceVersion: node.metadata.resourceVersion }, status: { conditions } };
  await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'strategic' } }, [404, 409], signal);
}

/** One step of one node, by its name: its cordon and its conditions are what the maintenances in progress make of them. */
export function createNodeReconciler(context: ControllerContext, pods: PodIndex, refusals: Refusals): Reconcile {
  return async (name, signal) => {
    await refusals.during(name, signal, async () => {
      const node = context.nodes.get(name);
      if (node === undefined) return;
      const state = nodeStateOf(context.maintenances.list(), node, pods.isEmpty(name));
      let changed: boolean;
      try {
        changed = await keepCordon(context, node, state.maintenances, signal);
      } catch (error) {
        // A node that cannot be cordoned says all the same that it is under maintenance.
        await reportConditions(context, node, state, signal);
        throw error;
      }
      // A node that was changed comes back into the queue.
      if (!changed) await reportConditions(context, node, state, signal);
    });
    return {};
  };
}
