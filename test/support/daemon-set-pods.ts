import { REVISION_HASH_LABEL } from '../../src/api/daemon-set.ts';
import { MAINTENANCE_GATE } from '../../src/api/names.ts';
import type { Pod } from '../../src/api/pod.ts';

/** The present of the tests. */
export const NOW = Date.parse('2026-01-01T00:00:00Z');

/** The DaemonSet default/logger as the owner of its pods. */
export const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'ds', controller: true };

/** What differs between the pods. */
interface Shape {
  readonly held?: boolean;
  readonly bound?: boolean;
  readonly hash?: string;
  readonly readySec?: number;
  readonly deleted?: boolean;
}

/** A pod of the DaemonSet default/logger for a node; ready for so many seconds, if told. */
export function podFor(node: string, shape: Shape = {}): Pod {
  const field = { key: 'metadata.name', operator: 'In', values: [node] };
  const required = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [field] }] },
  };
  const lastTransitionTime = new Date(NOW - (shape.readySec ?? 0) * 1000).toISOString();
  return {
    metadata: {
      name: `logger-${node}-${shape.hash ?? ''}`,
      namespace: 'default',
      uid: `${node}-${shape.hash ?? ''}`,
      ownerReferences: [OWNER],
      labels: { app: 'logger', [REVISION_HASH_LABEL]: shape.hash ?? 'old' },
      ...(shape.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      priority: 100,
      ...(shape.bound === true ? { nodeName: node } : { affinity: { nodeAffinity: required } }),
      ...(shape.held === true ? { schedulingGates: [{ name: MAINTENANCE_GATE }, { name: 'other' }] } : {}),
    },
    status: shape.readySec === undefined ? {} : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] },
  };
}
