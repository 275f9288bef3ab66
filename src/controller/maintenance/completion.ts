import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideGate, isGated } from '../../decide/daemon-set/gate.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { decideCordon, drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import { decideNodeConditions } from '../../decide/maintenance/node-conditions.ts';
import { nodeStateOf } from '../../decide/maintenance/retention.ts';
import { targetNodeOf } from '../../decide/pod.ts';
import type { RequestIndex } from '../cache/request-index.ts';
import type { ControllerContext } from '../context.ts';
import { retentionOf } from './give-back.ts';
import type { Refused } from './refusals.ts';
import { selectedNodes } from './selected-nodes.ts';

/** What the Complete stage of a maintenance is judged by. */
export interface CompletionScope {
  readonly context: ControllerContext;
  readonly requests: RequestIndex;
  readonly refused: Refused;
}

/** Whether the gate still keeps a DaemonSet pod from a node that no drain targets it on. */
function isHeldInVain(context: ControllerContext, nodeNames: ReadonlySet<string>): boolean {
  const maintenances = context.maintenances.list();
  return context.pods.list().some((pod) => {
    if (!isGated(pod) || !nodeNames.has(targetNodeOf(pod) ?? '')) return false;
    return decideGate(pod, (node) => drainsOfNode(maintenances, node)) === 'release';
  });
}

/** Whether the node still has a cordon or conditions that no maintenance keeps there. */
function isNodeLeft({ context, refused }: CompletionScope, node: Node): boolean {
  if (refused.nodes.of(node.metadata.name) !== undefined) return false;
  const state = nodeStateOf(context.maintenances.list(), node, false);
  if (state.maintenances.length > 0) return false;
  return decideCordon(node, []) !== undefined || decideNodeConditions(node, state).length > 0;
}

/** Whether the request still has an entry of ours that no drain wants, or is to be canceled or deleted after that. */
function isRequestLeft({ context, refused }: CompletionScope, key: string): boolean {
  const request = context.requests.get(key);
  if (request === undefined || refused.requests.of(key) !== undefined) return false;
  if (retentionOf(context, request, context.maintenances.list(), true) !== 'keep') return true;
  // One that was withdrawn from is canceled first, so that its interceptors see it.
  const isNobodys = (request.spec.requesters ?? []).length === 0;
  return isNobodys && !isFinished(request) && request.metadata.deletionTimestamp === undefined;
}

/**
 * Whether the loops of the nodes, the requests and the gate have given everything back that nobody keeps on the nodes of
 * this maintenance any more (KEP-4212, "Uncordon"). What the API server refuses to take back is not waited for: the objects
 * themselves record it, and the loops go on trying.
 */
export function isGivenBack(scope: CompletionScope, maintenance: NodeMaintenance): boolean {
  const nodes = selectedNodes(scope.context, maintenance);
  if (nodes.some((node) => isNodeLeft(scope, node))) return false;
  const names = nodes.map(({ metadata }) => metadata.name);
  if (names.some((name) => scope.requests.onNode(name).some((key) => isRequestLeft(scope, key)))) return false;
  return !isHeldInVain(scope.context, new Set(names));
}

/** What of the nodes of a maintenance that is complete the API server refuses to give back, a sentence for each object. */
export function refusedGiveBack(scope: CompletionScope, maintenance: NodeMaintenance): readonly string[] {
  const { context, requests, refused } = scope;
  return selectedNodes(context, maintenance).flatMap(({ metadata: { name } }) => {
    const node = refused.nodes.of(name);
    const own = node === undefined ? [] : [`Node ${name} is not given back: ${node.message}`];
    const others = requests.onNode(name).flatMap((key) => {
      const request = refused.requests.of(key);
      return request === undefined ? [] : [`EvictionRequest ${key} is not given back: ${request.message}`];
    });
    return [...own, ...others];
  });
}
