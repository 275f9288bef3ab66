import { CORDONED_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';

/** A merge patch of a Node. */
interface NodePatch {
  readonly metadata: { readonly annotations: Readonly<Record<string, string | null>> };
  readonly spec: { readonly unschedulable: boolean | null };
}

/**
 * What to change on a node so that it is cordoned while maintenances want it and as it was before when none does:
 * a node that a person had cordoned stays cordoned (KEP-4212, "Cordon" and "Uncordon").
 */
export function decideCordon(node: Node, wantedBy: readonly string[]): NodePatch | undefined {
  const cordoned = node.spec?.unschedulable === true;
  const ours = node.metadata.annotations?.[CORDONED_ANNOTATION] !== undefined;
  const maintenance = wantedBy[0];
  if (maintenance !== undefined) {
    if (cordoned) return undefined;
    return { metadata: { annotations: { [CORDONED_ANNOTATION]: maintenance } }, spec: { unschedulable: true } };
  }
  if (!ours) return undefined;
  return { metadata: { annotations: { [CORDONED_ANNOTATION]: null } }, spec: { unschedulable: null } };
}

/** Load balancers of the cloud send no new connections to a node with this label; one that is only cordoned still serves. */
const LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';
/** Whose value the label has: with another one it is somebody else's, and stays. */
const OURS = 'nodemaint';

/** The label to set on a node that is drained, or to take back with null; undefined where it stays as it is. */
export function decideLoadBalancers(
  { metadata }: Node,
  isWanted: boolean,
): Readonly<Record<string, string | null>> | undefined {
  const present = metadata.labels?.[LABEL];
  if (isWanted) return present === undefined ? { [LABEL]: OURS } : undefined;
  return present === OURS ? { [LABEL]: null } : undefined;
}
