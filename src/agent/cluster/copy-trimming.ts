import { isDeepStrictEqual } from 'node:util';
import { AGENT_LABEL, DEADLINE_ANNOTATION, FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../api/names.ts';
import { DRAINED, type NodeMaintenance, type NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { rebootNodeOf } from '../../decide/shutdown/machine-going-down.ts';
import { soleNodeOf } from '../../decide/maintenance/maintenance.ts';
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
function concerns(maintenance: NodeMaintenance, nodeName: string): boolean {
  if (soleNodeOf(maintenance) === nodeName) return true;
  return nodeStatusOf(maintenance.status, nodeName) !== undefined;
}

/** What agents that have no controller need of the reboot of another machine: where it is in the order of the turns. */
function rebootElsewhere({ metadata, spec, status }: NodeMaintenance, node: string): NodeMaintenance {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels = {}, annotations = {} } = metadata;
  const read = [SHUTDOWN_KIND_ANNOTATION, DEADLINE_ANNOTATION, FORCE_ANNOTATION];
  const kept = read.flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]] as const]));
  const own = nodeStatusOf(status, node);
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      labels: { [AGENT_LABEL]: labels[AGENT_LABEL] ?? '' },
      annotations: Object.fromEntries(kept),
    },
    spec: { nodeSelector: spec.nodeSelector, ...(spec.stage === undefined ? {} : { stage: spec.stage }) },
    status: {
      conditions: (status?.conditions ?? []).filter(({ type }) => type === DRAINED),
      ...(own === undefined ? {} : { nodeStatuses: [own] }),
    },
  };
}

/** What the agent of a node keeps of a maintenance: of one that does not concern the node, that there is one of its name. */
export function createMaintenanceTransform(nodeName: string): Transform<NodeMaintenance> {
  return (maintenance) => {
    const { apiVersion, kind, metadata, spec, status } = maintenance;
    const { name, uid, resourceVersion } = metadata;
    const rebooting = rebootNodeOf(maintenance);
    if (rebooting !== undefined && rebooting !== nodeName) return rebootElsewhere(maintenance, rebooting);
    if (!concerns(maintenance, nodeName)) {
      const known = {
        name,
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      return { metadata: known, spec: { nodeSelector: { nodeSelectorTerms: [] } } };
    }
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
