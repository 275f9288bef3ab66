import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { takesStaticPods } from '../../decide/drain/self-drain.ts';
import { agentNodeOf, soleNodeOf } from '../../decide/maintenance/maintenance.ts';
import { nodeStatusesOf, nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { withoutManagers } from '../../kube/cache/transform.ts';
import type { Transform } from '../../kube/watch.ts';

/** Whether the agent of the node has to do with the maintenance. */
export function concerns(maintenance: NodeMaintenance, nodeName: string): boolean {
  return soleNodeOf(maintenance) === nodeName || nodeStatusOf(maintenance.status, nodeName) !== undefined;
}

/**
 * What the agent of a node keeps of a maintenance of others or of several nodes: of its nodes this one, else the first that has
 * come to its static pods, else the machine that goes down. What it says of the others would change all the time.
 */
export function createMaintenanceTransform(nodeName: string): Transform<NodeMaintenance> {
  return (maintenance) => {
    const { status, ...trimmed } = withoutManagers(maintenance);
    if (status === undefined) return trimmed;
    if (soleNodeOf(maintenance) === nodeName) return { ...trimmed, status };
    const all = nodeStatusesOf(status);
    const machine = agentNodeOf(maintenance) === undefined ? undefined : all[0];
    const node = nodeStatusOf(status, nodeName) ?? all.find(takesStaticPods) ?? machine;
    if (node === undefined) return trimmed;
    const conditions = status.conditions?.map((each) => ({ ...each, message: '', lastTransitionTime: '' })) ?? [];
    return { ...trimmed, status: { nodeStatuses: [node], conditions } };
  };
}
