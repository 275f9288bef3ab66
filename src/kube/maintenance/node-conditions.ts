import type { Node } from '../../api/pod.ts';
import { decideNodeConditions, type NodeState } from '../../decide/maintenance/node-conditions.ts';
import { rfc3339 } from '../../decide/time.ts';
import type { KubeClient } from '../client.ts';
import { NODES, objectPath } from '../resource.ts';
import { sendForObject } from '../request.ts';
import { type Annotations, differentAnnotations } from './cordon.ts';

/** A node, what it is in the middle of, and annotations that are to change with its conditions. */
export interface ConditionsIntent {
  readonly node: Node;
  readonly state: NodeState;
  /** Undefined for those that the node is not to have; others stay as they are. */
  readonly annotations?: Annotations;
}

/**
 * Reports in the conditions of a node how far its drain is (KEP-5683), and writes its annotations with them; `now` is in
 * milliseconds since the epoch. Returns whether anything was written; a node that somebody has changed since it was copied is
 * left as it is. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function syncConditions(
  client: KubeClient,
  { node, state, annotations = {} }: ConditionsIntent,
  now: number,
  signal: AbortSignal,
): Promise<boolean> {
  const at = rfc3339(now);
  const conditions = decideNodeConditions(node, state).map((condition) => {
    const present = node.status?.conditions?.find(({ type }) => type === condition.type);
    // The patch leaves the time of the last change where the status stays as it is.
    const transition = present?.status === condition.status ? {} : { lastTransitionTime: at };
    return { ...condition, lastHeartbeatTime: at, ...transition };
  });
  const different = differentAnnotations(node, annotations);
  if (conditions.length === 0 && different === undefined) return false;
  const path = objectPath(NODES, node.metadata, 'status');
  const metadata = {
    resourceVersion: node.metadata.resourceVersion,
    ...(different === undefined ? {} : { annotations: different }),
  };
  const body = conditions.length === 0 ? { metadata } : { metadata, status: { conditions } };
  // Nobody waits for conditions, and the agent of the node for what the annotations tell it.
  const order = different === undefined ? ({ patient: true } as const) : {};
  const change = { method: 'PATCH', path, body, patch: { kind: 'strategic' }, ...order } as const;
  return (await sendForObject(client, change, [404, 409], signal)) !== undefined;
}
