import type { Node } from '../../api/pod.ts';
import { decideCordon, decideLoadBalancers } from '../../decide/maintenance/cordon.ts';
import type { KubeClient } from '../client.ts';
import { NodemaintError } from '../../errors.ts';
import { NODES, objectPath } from '../resource.ts';
import { sendForObject, statusMessage } from '../request.ts';

/** Annotations that a node is to have; undefined for those that it is not to have. */
export type Annotations = Readonly<Record<string, string | undefined>>;

/** Those that the node does not have so, as a patch has them, with null for those to be taken away; undefined where all are so. */
export function differentAnnotations(
  { metadata }: Node,
  wanted: Annotations,
): Readonly<Record<string, string | null>> | undefined {
  const different = Object.entries(wanted).filter(([key, value]) => metadata.annotations?.[key] !== value);
  if (different.length === 0) return undefined;
  return Object.fromEntries(different.map(([key, value]) => [key, value ?? null]));
}

/** A node, and the maintenances that want it unschedulable; none to take back the cordon that was set for some. */
interface CordonIntent {
  /** A copy of the node, or its name to have it read. */
  readonly node: Node | string;
  readonly wantedBy: readonly string[];
  /** Annotations that the node is to have, undefined for those that it is not to have; others stay as they are. */
  readonly annotations?: Annotations;
  /** Whether load balancers are to leave the node out; unless given that stays as it is until no maintenance wants the node. */
  readonly leavesOut?: boolean;
  /** Asked right before a write; without it every write is allowed. */
  readonly mayWrite?: () => Promise<boolean>;
}

type CordonOutcome =
  | 'unchanged'
  /** The cordon is another one than before. */
  | 'changed'
  /** Only annotations and labels are. */
  | 'annotated'
  | 'not-allowed'
  /** The given copy is not the latest: what it was to become has to be decided anew. */
  | 'conflict';

function labelsOf(
  node: Node,
  { wantedBy, leavesOut }: Pick<CordonIntent, 'wantedBy' | 'leavesOut'>,
): ReturnType<typeof decideLoadBalancers> {
  if (wantedBy.length === 0) return decideLoadBalancers(node, false);
  return leavesOut === undefined ? undefined : decideLoadBalancers(node, leavesOut);
}

/** Whether the cordon or the label of the node has to be changed. */
export function needsCordonWrite(node: Node, intent: Pick<CordonIntent, 'wantedBy' | 'leavesOut'>): boolean {
  return decideCordon(node, intent.wantedBy) !== undefined || labelsOf(node, intent) !== undefined;
}

/** A node that is read here is read again where somebody changes it at the same time. */
const MAX_TRIES = 5;

/**
 * Cordons a node while maintenances want it, and makes it schedulable again when none does (KEP-4212, "Cordon",
 * "Uncordon"). A node that does not exist is left unchanged. Only the node that was decided on is written: a cordon that
 * somebody sets meanwhile is neither taken over nor taken back. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function syncCordon(
  client: KubeClient,
  intent: CordonIntent,
  signal: AbortSignal,
): Promise<CordonOutcome> {
  const { node } = intent;
  if (typeof node !== 'string') return await changeNode(client, node, intent, signal);
  const path = objectPath(NODES, { name: node });
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const known = await sendForObject<Node>(client, { method: 'GET', path }, [404], signal);
    const outcome = known === undefined ? 'unchanged' : await changeNode(client, known, intent, signal);
    if (outcome !== 'conflict') return outcome;
  }
  throw new NodemaintError('API_REFUSED', `node ${node} is being changed all the time, so that its cordon is not`);
}

async function changeNode(
  client: KubeClient,
  node: Node,
  { wantedBy, annotations = {}, leavesOut, mayWrite }: CordonIntent,
  signal: AbortSignal,
): Promise<CordonOutcome> {
  const decided = decideCordon(node, wantedBy);
  const others = differentAnnotations(node, annotations);
  const labels = labelsOf(node, { wantedBy, ...(leavesOut === undefined ? {} : { leavesOut }) });
  if (decided === undefined && others === undefined && labels === undefined) return 'unchanged';
  if (mayWrite !== undefined && !(await mayWrite())) return 'not-allowed';
  const { resourceVersion } = node.metadata;
  const guard = resourceVersion === undefined ? {} : { resourceVersion };
  const texts = { ...others, ...decided?.metadata.annotations };
  const body = { ...decided, metadata: { annotations: texts, ...(labels === undefined ? {} : { labels }), ...guard } };
  const path = objectPath(NODES, node.metadata);
  const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
  const response = await client.send(change, signal);
  if (response.status === 409) return 'conflict';
  if (response.status === 404 || (response.status >= 200 && response.status < 300)) {
    return decided === undefined ? 'annotated' : 'changed';
  }
  const message = statusMessage(response);
  throw new NodemaintError('API_REFUSED', `the API server refused ${change.method} ${change.path}: ${message}`);
}
