import type { Node } from '../../api/pod.ts';
import { type ControlPlaneMember, membersOfControlPlane } from '../../decide/maintenance/control-plane-members.ts';
import { goesDownUncounted } from '../../decide/presence/presence.ts';
import type { Clock } from '../../host/clock.ts';
import type { Indexes } from './indexes.ts';

/** The members of the control plane, and which of these are at work, by the copies. */
export function controlPlaneMembers({
  nodes,
  pods,
  maintenances,
  clock,
}: Omit<Indexes, 'requests'> & { readonly clock: Pick<Clock, 'now'> }): readonly ControlPlaneMember[] {
  const goesDown = (node: Node): boolean => goesDownUncounted(node, maintenances.on(node.metadata.name), clock.now());
  return membersOfControlPlane(nodes.controlPlane(), (node) => pods.on(node), goesDown);
}
