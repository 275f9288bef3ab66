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

/** Keeps the node cordoned while a maintenance wants it, and gives it back when none does (KEP-4212, "Cordon", "Uncordon"). */
async function keepCordon(
  { client, events, log }: ControllerContext,
  node: Node,
  maintenances: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { name } = node.metadata;
  if ((await syncCordon(client, { node, wantedBy: maintenances }, signal)) !== 'changed') return;
  log.info({ node: name, maintenances }, maintenances.length > 0 ? 'cordoned node' : 'uncordoned node');
  // The annotation says that it was cordoned for a maintenance before.
  if (maintenances.length === 0 || node.metadata.annotations?.[CORDONED_ANNOTATION] === undefined) return;
  const message = `Node ${name} was uncordoned during maintenance (${maintenances.join(', ')}); cordoned again. Complete the maintenance to uncordon it.`;
  const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
  events.record(subject, { type: 'Warning', reason: 'CordonReverted', message });
}

/** Reports in the conditions of the node how far its drain is (KEP-5683). */
async function reportConditions(
  { client, clock }: ControllerContext,
  node: Node,
  state: NodeState,
  signal: AbortSignal,
): Promise<void> {
  const now = rfc3339(clock.now());
  const conditions = decideNodeConditions(node, state).map((condition) => ({
    ...condition,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }));
  if (conditions.length === 0) return;
  const path = objectPath(NODES, node.metadata, 'status');
  const patch = { kind: 'strategic' } as const;
  await sendForObject(client, { method: 'PATCH', path, body: { status: { conditions } }, patch }, [404], signal);
}

/** One step of one node, by its name: its cordon and its conditions are what the maintenances in progress make of them. */
export function createNodeReconciler(context: ControllerContext, pods: PodIndex, refusals: Refusals): Reconcile {
  return async (name, signal) => {
    await refusals.during(name, signal, async () => {
      const node = context.nodes.get(name);
      if (node === undefined) return;
      const state = nodeStateOf(context.maintenances.list(), node, pods.isEmpty(name));
      const steps = [
        keepCordon(context, node, state.maintenances, signal),
        reportConditions(context, node, state, signal),
      ];
      // A node whose conditions are refused is cordoned all the same.
      const failed = (await Promise.allSettled(steps)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    });
    return {};
  };
}
