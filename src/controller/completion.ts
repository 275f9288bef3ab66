import { MAINTENANCE_GATE, MAINTENANCE_REQUESTER, NODE_LABEL } from '../api/names.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node, Pod } from '../api/pod.ts';
import { targetsCover } from '../decide/drain-plan.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { drainsOfNode, isInProgress, selectsNode } from '../decide/maintenance.ts';
import { drainPodOf, targetNodeOf } from '../decide/pod.ts';
import { EVICTION_REQUESTS, objectPath, PODS, sendForObject } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';

/** Removes the maintenance gate from a DaemonSet pod, so that it is scheduled and starts. */
async function ungate(context: ControllerContext, pod: Pod, signal: AbortSignal): Promise<void> {
  const schedulingGates = (pod.spec.schedulingGates ?? []).filter(({ name }) => name !== MAINTENANCE_GATE);
  const { resourceVersion } = pod.metadata;
  // A strategic or SSA patch cannot take away another manager's gate; the list is replaced, guarded by the version.
  const body = { metadata: { resourceVersion }, spec: { schedulingGates } };
  const path = objectPath(PODS, pod.metadata);
  await sendForObject(context.client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
  context.log.info({ pod: `${pod.metadata.namespace}/${pod.metadata.name}` }, 'released DaemonSet pod');
}

/** Removes the gate from every DaemonSet pod of the nodes that no drain targets any more. */
async function ungatePods(
  context: ControllerContext,
  nodeNames: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  for (const pod of context.pods.list()) {
    const node = targetNodeOf(pod);
    const gated = pod.spec.schedulingGates?.some(({ name }) => name === MAINTENANCE_GATE) === true;
    if (!gated || node === undefined || !nodeNames.has(node)) continue;
    const drains = drainsOfNode(context.maintenances.list(), node);
    const view = { ...drainPodOf(pod), podType: 'DaemonSet' as const };
    if (!drains.some(({ drainTargets }) => targetsCover(drainTargets, view))) await ungate(context, pod, signal);
  }
}

/**
 * The Complete stage (KEP-4212, "Uncordon"): withdraws this controller's requester entries, deletes the requests that
 * are over and that nobody else asks for, and lets DaemonSet pods start again, on every node that no other maintenance in
 * progress selects. Returns whether nothing is left to wait for.
 */
export async function finishCompletion(
  context: ControllerContext,
  maintenance: NodeMaintenance,
  nodes: readonly Node[],
  signal: AbortSignal,
): Promise<boolean> {
  const others = context.maintenances
    .list()
    .filter((other) => other.metadata.name !== maintenance.metadata.name && isInProgress(other));
  const free = nodes.filter((node) => !others.some((other) => selectsNode(other, node)));
  const names = new Set(free.map((node) => node.metadata.name));
  let finished = true;
  for (const request of context.requests.list()) {
    // The label is this controller's: it marks the requests that it made or joined.
    if (!names.has(request.metadata.labels?.[NODE_LABEL] ?? '')) continue;
    const path = objectPath(EVICTION_REQUESTS, request.metadata);
    const all = request.spec.requesters ?? [];
    const requesters = all.filter(({ name }) => name !== MAINTENANCE_REQUESTER);
    if (requesters.length === 0 && isFinished(request)) {
      await sendForObject(context.client, { method: 'DELETE', path }, [404], signal);
      continue;
    }
    // One that we withdraw from is canceled first, so that its interceptors see it; then it is deleted.
    if (requesters.length === 0) finished = false;
    if (requesters.length === all.length) continue;
    const { resourceVersion } = request.metadata;
    const body = { metadata: { resourceVersion }, spec: { requesters } };
    await sendForObject(context.client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
  }
  await ungatePods(context, names, signal);
  return finished;
}
