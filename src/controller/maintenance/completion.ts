import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideGate, isGated } from '../../decide/daemon-set/gate.ts';
import { finishedUntil } from '../../decide/drain/status.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import { decideCordon } from '../../decide/maintenance/cordon.ts';
import { decideNodeConditions, nodeStateOf } from '../../decide/maintenance/node-conditions.ts';
import { NODE_MAINTENANCES, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { retentionOf } from './request-cleanup.ts';
import type { Refusals } from './refusals.ts';

/** What the Complete stage of a maintenance is judged by. */
interface CompletionScope {
  readonly context: ControllerContext;
  readonly refused: Pick<Refusals, 'of'>;
}

/** Whether the gate still keeps a DaemonSet pod from the node although no drain targets it there. */
function isGateObsolete({ maintenances, pods }: ControllerContext, nodeName: string): boolean {
  return pods.meantFor(nodeName).some((pod) => {
    return isGated(pod) && decideGate(pod, (node) => drainsOfNode(maintenances.on(node), node)) === 'release';
  });
}

/** Whether the node still has a cordon or conditions that no maintenance keeps there. */
function isNodeLeft({ context, refused }: CompletionScope, node: Node): boolean {
  if (refused.of(node.metadata.name) !== undefined) return false;
  const state = nodeStateOf(context.maintenances.on(node.metadata.name), node, false);
  if (state.maintenances.length > 0) return false;
  return decideCordon(node, []) !== undefined || decideNodeConditions(node, state).length > 0;
}

/** Whether the request still has an entry of ours that no drain wants, or is to be canceled or deleted after that. */
function isRequestLeft({ context, refused }: CompletionScope, key: string): boolean {
  const request = context.requests.get(key);
  if (request === undefined || refused.of(key) !== undefined) return false;
  if (retentionOf(context, request, (node) => context.maintenances.on(node)) !== 'keep') return true;
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
  const { context } = scope;
  return context.maintenances.nodesOf(maintenance.metadata.name).every((node) => {
    const { name } = node.metadata;
    if (isNodeLeft(scope, node) || isGateObsolete(context, name)) return false;
    return ![...context.requests.onNode(name)].some((key) => isRequestLeft(scope, key));
  });
}

/** The nodes of a maintenance that is complete which stay unschedulable, though no other maintenance wants that. */
export function stillCordoned({ maintenances }: ControllerContext, maintenance: NodeMaintenance): readonly string[] {
  const nodes = maintenances.nodesOf(maintenance.metadata.name).filter((node) => {
    const isWanted = nodeStateOf(maintenances.on(node.metadata.name), node, false).maintenances.length > 0;
    return node.spec?.unschedulable === true && decideCordon(node, []) === undefined && !isWanted;
  });
  return nodes.map(({ metadata }) => metadata.name);
}

/** What of the nodes of a maintenance that is complete the API server refuses to give back, a sentence for each object. */
export function refusedGiveBack(scope: CompletionScope, maintenance: NodeMaintenance): readonly string[] {
  const { context, refused } = scope;
  return context.maintenances.nodesOf(maintenance.metadata.name).flatMap(({ metadata: { name } }) => {
    const node = refused.of(name);
    const own = node === undefined ? [] : [`Node ${name} is not given back: ${node.message}`];
    const others = [...context.requests.onNode(name)].flatMap((key) => {
      const request = refused.of(key);
      return request === undefined ? [] : [`EvictionRequest ${key} is not given back: ${request.message}`];
    });
    return [...own, ...others];
  });
}

/** Deletes a maintenance that has been finished for its time; else returns when that is over. */
export async function removeFinished(
  { client, clock, log }: ControllerContext,
  maintenance: NodeMaintenance,
  signal: AbortSignal,
): Promise<{ readonly againMs?: number }> {
  const leftMs = (finishedUntil(maintenance) ?? Infinity) - clock.now();
  if (leftMs > 0) return leftMs === Infinity ? {} : { againMs: leftMs };
  const { name, uid, resourceVersion } = maintenance.metadata;
  const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
  const body = { preconditions: { uid, resourceVersion } };
  const deleted = await sendForObject(client, { method: 'DELETE', path, body }, [404, 409], signal);
  if (deleted !== undefined) log.info({ maintenance: name }, 'finished maintenance deleted');
  return {};
}
