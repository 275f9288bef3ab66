import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { decideGate, isGated } from '../../decide/daemon-set/gate.ts';
import { finishedUntil } from '../../decide/drain/status.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import { decideCordon } from '../../decide/maintenance/cordon.ts';
import { decideNodeConditions, nodeStateOf } from '../../decide/maintenance/node-conditions.ts';
import { NODE_MAINTENANCES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { ControllerContext } from '../context.ts';
import { retentionOf } from './request-cleanup.ts';
import type { Refusals } from './refusals.ts';
import type { LeftOver } from './report-events.ts';

/** Whether the gate still keeps a DaemonSet pod from the node although no drain targets it there. */
function isGateObsolete({ maintenances, pods }: ControllerContext, nodeName: string): boolean {
  return pods.meantFor(nodeName).some((pod) => {
    return isGated(pod) && decideGate(pod, (node) => drainsOfNode(maintenances.on(node), node)) === 'release';
  });
}

/** Whether the request still has an entry of ours that no drain wants, or is to be canceled or deleted after that. */
function isRequestLeft(context: ControllerContext, key: string): boolean {
  const request = context.requests.get(key);
  if (request === undefined) return false;
  if (retentionOf(context, request, (node) => context.maintenances.on(node)) !== 'keep') return true;
  // One that was withdrawn from is canceled first, so that its interceptors see it.
  const isNobodys = (request.spec.requesters ?? []).length === 0;
  return isNobodys && !isFinished(request) && request.metadata.deletionTimestamp === undefined;
}

/**
 * What is left of a maintenance that is complete; undefined as long as the loops of the nodes, the requests and the gate have not
 * given everything back that nobody keeps on its nodes any more (KEP-4212, "Uncordon"). What the API server refuses to take back
 * is not waited for: the objects themselves record it, and the loops go on trying.
 */
export function leftOverOf(
  context: ControllerContext,
  refused: Pick<Refusals, 'of'>,
  maintenance: NodeMaintenance,
): LeftOver | undefined {
  const { maintenances, requests } = context;
  const [said, cordoned]: [string[], string[]] = [[], []];
  for (const node of maintenances.nodesOf(maintenance.metadata.name)) {
    const { name } = node.metadata;
    const state = nodeStateOf(maintenances.on(name), node, false);
    const isWanted = state.maintenances.length > 0;
    const isCordonLeft = decideCordon(node, []) !== undefined;
    const refusal = refused.of(name);
    if (refusal !== undefined) said.push(`Node ${name} is not given back: ${refusal.message}`);
    else if (!isWanted && (isCordonLeft || decideNodeConditions(node, state).length > 0)) return undefined;
    if (isGateObsolete(context, name)) return undefined;
    for (const key of requests.onNode(name)) {
      const why = refused.of(key)?.message;
      if (why !== undefined) said.push(`EvictionRequest ${key} is not given back: ${why}`);
      else if (isRequestLeft(context, key)) return undefined;
    }
    if (!isWanted && !isCordonLeft && node.spec?.unschedulable === true) cordoned.push(name);
  }
  return { refused: said, cordoned };
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
