import type { Node } from '../../api/pod.ts';
import { decideCordon } from '../../decide/maintenance/maintenance.ts';
import type { KubeClient } from '../client.ts';
import { NODES, objectPath, sendForObject } from '../resource.ts';

/** A node, and the maintenances that want it unschedulable; none to take back the cordon that was set for some. */
export interface CordonIntent {
  /** A copy of the node, or its name to have it read. */
  readonly node: Node | string;
  readonly wantedBy: readonly string[];
  /** Asked right before a write; without it every write is allowed. */
  readonly mayWrite?: () => Promise<boolean>;
}

export type CordonOutcome = 'unchanged' | 'changed' | 'not-allowed';

/**
 * Cordons a node while maintenances want it, and makes it schedulable again when none does (KEP-4212, "Cordon",
 * "Uncordon"). A node that does not exist is left unchanged. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function syncCordon(
  client: KubeClient,
  { node, wantedBy, mayWrite }: CordonIntent,
  signal: AbortSignal,
): Promise<CordonOutcome> {
  const path = objectPath(NODES, typeof node === 'string' ? { name: node } : node.metadata);
  const known =
    typeof node === 'string' ? await sendForObject<Node>(client, { method: 'GET', path }, [404], signal) : node;
  const body = known === undefined ? undefined : decideCordon(known, wantedBy);
  if (body === undefined) return 'unchanged';
  if (mayWrite !== undefined && !(await mayWrite())) return 'not-allowed';
  await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
  return 'changed';
}
