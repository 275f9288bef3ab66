import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { takesStaticPods } from '../../decide/drain/self-drain.ts';
import { agentNodeOf, soleNodeOf } from '../../decide/maintenance/maintenance.ts';
import { nodeStatusesOf, nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import type { Transform } from '../../kube/watch.ts';

/** What kubectl applied: a second copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

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
    const { metadata, status, ...rest } = maintenance;
    const { managedFields: _, ...meta } = metadata as typeof metadata & { readonly managedFields?: unknown };
    const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations ?? {};
    const trimmed = { ...rest, metadata: { ...meta, annotations } };
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
