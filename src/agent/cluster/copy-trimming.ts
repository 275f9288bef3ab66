import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { takesStaticPods } from '../../decide/drain/self-drain.ts';
import { soleNodeOf } from '../../decide/maintenance/maintenance.ts';
import { nodeStatusesOf, nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import type { Transform } from '../../kube/watch.ts';

/** What kubectl applied: a second copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Whether the agent of the node has to do with the maintenance. */
export function concerns(maintenance: NodeMaintenance, nodeName: string): boolean {
  return soleNodeOf(maintenance) === nodeName || nodeStatusOf(maintenance.status, nodeName) !== undefined;
}

/**
 * What the agent of a node keeps of a maintenance: of its nodes this one, else the first that has come to its static pods, else
 * any one, such as that of a machine elsewhere that goes down.
 */
export function createMaintenanceTransform(nodeName: string): Transform<NodeMaintenance> {
  return ({ metadata, status, ...rest }) => {
    const { managedFields: _, ...meta } = metadata as typeof metadata & { readonly managedFields?: unknown };
    const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations ?? {};
    const trimmed = { ...rest, metadata: { ...meta, annotations } };
    if (status === undefined) return trimmed;
    const { nodeGroups: ___, ...kept } = status;
    const all = nodeStatusesOf(status);
    const node = nodeStatusOf(status, nodeName) ?? all.find(takesStaticPods) ?? all[0];
    return { ...trimmed, status: { ...kept, nodeStatuses: node === undefined ? [] : [node] } };
  };
}
