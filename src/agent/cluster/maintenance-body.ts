import {
  AGENT_LABEL,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  NODE_MAINTENANCE_API_VERSION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../api/names.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Deadline } from '../../decide/deadline/budget.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import type { ShutdownKind } from '../../decide/shutdown/kind.ts';
import { preciseRfc3339 } from '../../decide/time.ts';

/** A maintenance that this agent makes for its node. */
export interface ShutdownMaintenance {
  readonly name: string;
  readonly reason: string;
  readonly stage: 'Cordon' | 'Drain';
  readonly drainPlan: readonly DrainPlanEntry[];
  /** When the node is gone, by this machine's clock. */
  readonly deadline?: Deadline | undefined;
  /** How the machine goes down, where that is known. */
  readonly shutdownKind?: ShutdownKind | undefined;
}

/** A deadline as annotations have it; `at` and `since` by the API server's clock. */
export function deadlineAnnotationsOf({ at, since }: Deadline): Record<string, string> {
  return { [DEADLINE_ANNOTATION]: preciseRfc3339(at), [DEADLINE_SINCE_ANNOTATION]: preciseRfc3339(since) };
}

/** The object with its label, which says whose agent made it; `deadline` is by the API server's clock. */
export function maintenanceBody(
  { name, reason, stage, drainPlan, deadline, shutdownKind }: ShutdownMaintenance,
  nodeName: string,
): NodeMaintenance {
  const annotations = {
    ...(deadline === undefined ? {} : deadlineAnnotationsOf(deadline)),
    ...(shutdownKind === undefined ? {} : { [SHUTDOWN_KIND_ANNOTATION]: shutdownKind }),
  };
  return {
    apiVersion: NODE_MAINTENANCE_API_VERSION,
    kind: 'NodeMaintenance',
    metadata: {
      name,
      labels: { [AGENT_LABEL]: nodeLabel(nodeName) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      stage,
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
      },
      drainPlan,
      reason,
    },
  };
}
