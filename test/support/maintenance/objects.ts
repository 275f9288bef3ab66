import type { NodeSelector } from '../../../src/api/meta.ts';
import { AGENT_LABEL, NODE_MAINTENANCE_API_VERSION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { shutdownNames } from '../../../src/decide/maintenance/agent-names.ts';
import { nodeLabel } from '../../../src/decide/node-label.ts';

/** Selects nodes by their names. */
export function byName(...names: readonly string[]): NodeSelector {
  return { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: names }] }] };
}

/** A NodeMaintenance of node-a, with other fields in its spec; they need not be valid. */
export function maintenanceOf(spec: Readonly<Record<string, unknown>> = {}, metadata: object = {}): NodeMaintenance {
  return {
    apiVersion: NODE_MAINTENANCE_API_VERSION,
    kind: 'NodeMaintenance',
    metadata: { name: `nm-${crypto.randomUUID()}`, ...metadata },
    spec: { nodeSelector: byName('node-a'), ...spec },
  };
}

/** The NodeMaintenance NAME in the stage Drain, of these nodes. */
export function drainOf(name: string, nodes: readonly string[], spec: object = {}): NodeMaintenance {
  return maintenanceOf({ stage: 'Drain', nodeSelector: byName(...nodes), ...spec }, { name });
}

/** A maintenance as the agent of `node` makes it, with other fields in its metadata and spec. */
export function ownMaintenanceOf(node: string, metadata: object = {}, spec: object = {}): NodeMaintenance {
  const own = {
    name: shutdownNames(node).find((each) => each.endsWith('-x')) ?? '',
    labels: { [AGENT_LABEL]: nodeLabel(node) },
    ...metadata,
  };
  return maintenanceOf({ stage: 'Drain', nodeSelector: byName(node), ...spec }, own);
}
