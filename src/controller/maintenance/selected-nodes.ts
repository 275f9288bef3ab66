import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { selectsNode } from '../../decide/maintenance/maintenance.ts';
import { soleNodeOf } from '../../decide/selector.ts';
import type { ControllerContext } from '../context.ts';

/** The nodes that a maintenance selects. One that names its node, as those of agents do, costs no look at the others. */
export function selectedNodes(
  { nodes }: Pick<ControllerContext, 'nodes'>,
  maintenance: NodeMaintenance,
): readonly Node[] {
  const name = soleNodeOf(maintenance.spec.nodeSelector);
  if (name === undefined) return nodes.list().filter((node) => selectsNode(maintenance, node));
  const node = nodes.get(name);
  return node !== undefined && selectsNode(maintenance, node) ? [node] : [];
}
