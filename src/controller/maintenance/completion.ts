import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideGate, isGated } from '../../decide/daemon-set/gate.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { drainsOfNode, isInProgress, selectsNode } from '../../decide/maintenance/maintenance.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { targetNodeOf } from '../../decide/pod.ts';
import { EVICTION_REQUESTS, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';

/** Whether the gate still keeps a DaemonSet pod from a node that no drain targets it on. */
function isHeldInVain(context: ControllerContext, nodeNames: ReadonlySet<string>): boolean {
  const maintenances = context.maintenances.list();
  return context.pods.list().some((pod) => {
    if (!isGated(pod) || !nodeNames.has(targetNodeOf(pod) ?? '')) return false;
    return decideGate(pod, (node) => drainsOfNode(maintenances, node)) === 'release';
  });
}

/**
 * The Complete stage (KEP-4212, "Uncordon"): withdraws this controller's requester entries, deletes the requests that
 * are over and that nobody else asks for, on every node that no other maintenance in progress selects. Returns whether
 * nothing is left to wait for, the release of DaemonSet pods (`daemon-set-gate.ts`) included.
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
    if (!names.has(requestNodeOf(request.metadata))) continue;
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
  return finished && !isHeldInVain(context, names);
}
