/** Lets pods come to a node that was registered with the startup taint, once a shutdown of the node would wait for them. */
import type { Node } from '../../api/pod.ts';
import { hasStartupTaint, withoutStartupTaint } from '../../decide/node-mark/startup-taint.ts';
import { NodemaintError } from '../../errors.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import { NODES, objectPath, statusMessage } from '../../kube/resource.ts';
import { fleetNode } from '../../show/fleet/node-state.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';

type TaintContext = Pick<ControllerContext, 'client' | 'clock' | 'log' | 'nodes'>;

/** Many nodes may join at once; each is one small write. */
const PARALLEL = 4;

/**
 * Whether the node is to lose the taint: it has it, and its agent says that it holds the lock, or no agent is expected there.
 * What a stopped or silent agent said does not count.
 */
function isDue(node: Node, now: number): boolean {
  // The words of the node's own state are only in the reason, which does not count here.
  return hasStartupTaint(node) && fleetNode({ metadata: node.metadata, nodeStatus: '' }, '', now).state !== 'unguarded';
}

/** Takes the taint away from this state of the node alone. Throws API_UNREACHABLE and API_REFUSED. */
async function removeTaint({ client, log }: TaintContext, node: Node, signal: AbortSignal): Promise<void> {
  const { name, resourceVersion } = node.metadata;
  const taints = withoutStartupTaint(node);
  // A list in a merge patch replaces the whole list: the version guards the taints that others set meanwhile.
  const body = { metadata: { resourceVersion }, spec: { taints: taints.length === 0 ? null : taints } };
  const path = objectPath(NODES, { name });
  const response = await client.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
  // A node that has changed comes again by its watch.
  if (response.status === 404 || response.status === 409) return;
  if (response.status < 200 || response.status >= 300)
    throw new NodemaintError('API_REFUSED', `the API server refused PATCH ${path}: ${statusMessage(response)}`);
  log.info({ node: name }, 'took the startup taint from the node: its agent guards it');
}

/** The loop over nodes with the taint, by their names. Only a report of an agent makes a node guarded, and it is a change of the Node. */
export function startupTaintLoop(context: TaintContext): Loop<Changes> {
  const { nodes, clock } = context;
  return {
    name: 'startup-taints',
    parallel: PARALLEL,
    reconcile: async (name, signal) => {
      const node = nodes.get(name);
      if (node !== undefined && isDue(node, clock.now())) await removeTaint(context, node, signal);
      return {};
    },
    concerns: {
      Node: ({ name }) => {
        const node = nodes.get(name);
        return node !== undefined && hasStartupTaint(node) ? [name] : [];
      },
    },
  };
}
