import { isDeepStrictEqual } from 'node:util';
import { AGENT_LABEL, SHUTDOWN_KIND_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import { takesStaticPods } from '../../decide/drain/self-drain.ts';
import { nodeStatusesOf, nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { agentNodeOf, soleNodeOf } from '../../decide/maintenance/maintenance.ts';
import type { Transform } from '../../kube/watch.ts';

/** What kubectl applied: a second copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Of a maintenance of several nodes, what an agent goes by; the counts of other nodes would change all the time. */
function sharedStatus(status: NodeMaintenanceStatus, nodeName: string): NodeMaintenanceStatus {
  const { conditions = [] } = status;
  const own = nodeStatusOf(status, nodeName);
  return {
    nodeStatuses: own === undefined ? [] : [own],
    conditions: conditions.map((each) => ({ ...each, message: '', lastTransitionTime: '' })),
  };
}

/** Whether the agent of the node has to do with the maintenance. */
export function concerns(maintenance: NodeMaintenance, nodeName: string): boolean {
  if (soleNodeOf(maintenance) === nodeName) return true;
  return nodeStatusOf(maintenance.status, nodeName) !== undefined;
}

/** Of a drain of other nodes, that there is one of its name, and the first of them that has come to static pods. */
function drainElsewhere({ metadata: { name, uid, resourceVersion }, spec, status }: NodeMaintenance): NodeMaintenance {
  const away = spec.stage === 'Drain' ? nodeStatusesOf(status).find(takesStaticPods) : undefined;
  const { nodeRef, drainStartTime, drainTargets } = away ?? {};
  const nodeStatuses = nodeRef === undefined ? [] : [{ nodeRef, drainStartTime, drainTargets }];
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: { nodeSelector: { nodeSelectorTerms: [] } },
    ...(nodeStatuses.length === 0 ? {} : { status: { nodeStatuses } as NodeMaintenanceStatus }),
  };
}

/** What an agent needs of a machine elsewhere that goes down: how, and since when. */
function machineElsewhere({ metadata, spec, status }: NodeMaintenance, node: string): NodeMaintenance {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels = {}, annotations = {} } = metadata;
  const kind = annotations[SHUTDOWN_KIND_ANNOTATION];
  const { nodeRef, drainStartTime } = nodeStatusOf(status, node) ?? {};
  const begun = nodeRef === undefined || drainStartTime === undefined ? [] : [{ nodeRef, drainStartTime }];
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      labels: { [AGENT_LABEL]: labels[AGENT_LABEL] ?? '' },
      ...(kind === undefined ? {} : { annotations: { [SHUTDOWN_KIND_ANNOTATION]: kind } }),
    },
    spec: { nodeSelector: spec.nodeSelector, ...(spec.stage === undefined ? {} : { stage: spec.stage }) },
    status: { nodeStatuses: begun },
  };
}

/** What the agent of a node keeps of a maintenance: of one that does not concern the node, that there is one of its name. */
export function createMaintenanceTransform(nodeName: string): Transform<NodeMaintenance> {
  return (maintenance) => {
    const { apiVersion, kind, metadata, spec, status } = maintenance;
    const elsewhere = agentNodeOf(maintenance);
    if (elsewhere !== undefined && elsewhere !== nodeName) return machineElsewhere(maintenance, elsewhere);
    if (!concerns(maintenance, nodeName)) return drainElsewhere(maintenance);
    const { managedFields: _, ...meta } = metadata as typeof metadata & { readonly managedFields?: unknown };
    const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations ?? {};
    const kept = soleNodeOf(maintenance) === nodeName || status === undefined ? status : sharedStatus(status, nodeName);
    return {
      ...(apiVersion === undefined ? {} : { apiVersion }),
      ...(kind === undefined ? {} : { kind }),
      metadata: { ...meta, annotations },
      spec,
      ...(kept === undefined ? {} : { status: kept }),
    };
  };
}

/** Tells which changes of maintenances are news for the agent of a node. */
interface SignificantChanges {
  /** Notes that the copy of this name changed; returns whether anything did that the agent goes by. */
  changed(name: string): boolean;
}

/** Makes it; `get` reads the trimmed copy. */
export function createSignificantChanges(
  nodeName: string,
  get: (name: string) => NodeMaintenance | undefined,
): SignificantChanges {
  /** Those that concern the node, as they were shown last. */
  const shown = new Map<string, NodeMaintenance>();
  return {
    changed: (name) => {
      const found = get(name);
      const before = shown.get(name);
      if (found === undefined || !concerns(found, nodeName)) return shown.delete(name);
      shown.set(name, found);
      if (before === undefined) return true;
      const { resourceVersion = '' } = found.metadata;
      return !isDeepStrictEqual({ ...before, metadata: { ...before.metadata, resourceVersion } }, found);
    },
  };
}
