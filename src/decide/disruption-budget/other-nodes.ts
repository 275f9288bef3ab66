/**
 * What an agent sees of other nodes while no controller is alive: the Leases that their kubelets renew. A Lease says that a
 * node is alive and nothing of its taints and labels, so that a node which is alive may take any pod.
 */
import type { Lease } from '../../api/lease.ts';
import type { Node } from '../../api/pod.ts';
import { type NodeFacts, nodesThatStay, observeNodes, type SeenNodes } from './staying-nodes.ts';

/** A kubelet renews its Lease every ten seconds; one that has not done so for this time is silent. */
const RENEWAL_MS = 60_000;

/** The renewals that were seen of one Lease, on the monotonic clock. */
interface SeenLease {
  readonly renewTime: string;
  readonly since: number;
}

/** The other nodes, as far as their Leases tell. */
export interface SeenLeases {
  readonly leases: ReadonlyMap<string, SeenLease>;
  readonly nodes: SeenNodes;
}

/** The node as its Lease shows it: silent since its last renewal, where none was seen for some time. */
function nodeOf({ metadata, spec }: Lease, seenForMs: number): Node {
  const { name, creationTimestamp } = metadata;
  const status = seenForMs < RENEWAL_MS ? 'True' : 'Unknown';
  const condition = { type: 'Ready', status, lastTransitionTime: spec?.renewTime ?? null } as const;
  return {
    metadata: { name, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    status: { conditions: [condition] },
  };
}

/** The Leases as they are read now; `goingDown` are the nodes whose machines go down. `now` is monotonic. */
export function observeLeases(
  before: SeenLeases | undefined,
  leases: readonly Lease[],
  goingDown: ReadonlySet<string>,
  now: number,
): SeenLeases {
  const seen = new Map<string, SeenLease>();
  const facts = leases.map((lease): NodeFacts => {
    const { name } = lease.metadata;
    const renewTime = lease.spec?.renewTime ?? '';
    const known = before?.leases.get(name);
    const own = known?.renewTime === renewTime ? known : { renewTime, since: now };
    seen.set(name, own);
    return { node: nodeOf(lease, now - own.since), goesDown: goingDown.has(name) };
  });
  return { leases: seen, nodes: observeNodes(before?.nodes, facts, now) };
}

/** The name of a node that stays, or may; undefined where none does. `wallNow` is in milliseconds since the epoch. */
export function nodeThatStays({ nodes }: SeenLeases, now: number, wallNow: number): string | undefined {
  return nodesThatStay(nodes, now, wallNow)[0]?.name;
}

/** Why an agent that is alone does not ask the budgets of its node's pods, as a sentence. */
export function whyNotAskedAlone(node: string): string {
  return `No PodDisruptionBudget is asked: node ${node} goes down, no nodemaint controller is alive, and no other node is alive that does not go down, too.`;
}
