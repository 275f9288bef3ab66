import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideRetention, type RetentionStep } from '../../decide/eviction/requester.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { drainsOn, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { deleteRequest, withdrawEntry } from '../../kube/eviction/requester-entry.ts';
import { keyOf } from '../../kube/resource.ts';
import { targetOf } from '../cache/targets.ts';
import type { ControllerContext } from '../context.ts';

/** In this time of a term a copy of a maintenance may be older than what the former leader did by it. */
const YOUNG_TERM_MS = 60_000;

/** The node of the target, or the one that the request is marked with. */
function nodeOf(context: Pick<ControllerContext, 'pods' | 'nodes'>, request: EvictionRequest): Node | undefined {
  return context.nodes.get(targetOf(context.pods, request)?.spec.nodeName ?? requestNodeOf(request.metadata));
}

/** What is to be done about a request by the maintenances that may concern its node. */
export function retentionOf(
  context: Pick<ControllerContext, 'pods' | 'nodes'>,
  request: EvictionRequest,
  maintenancesOn: (node: string) => readonly NodeMaintenance[],
): RetentionStep {
  const node = nodeOf(context, request);
  const maintenances = node === undefined ? [] : maintenancesOn(node.metadata.name);
  return decideRetention(request, targetOf(context.pods, request), drainsOn(maintenances, node));
}

/**
 * Takes back what the controller asked for and no drain wants any more: one step of one request. `begunAt` is the beginning of the
 * term, in milliseconds of the monotonic clock.
 */
export async function cleanUpRequest(
  context: ControllerContext,
  request: EvictionRequest,
  begunAt: number,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log, maintenances } = context;
  const step = retentionOf(context, request, (node) => maintenances.on(node));
  if (step === 'keep') return;
  const node = nodeOf(context, request);
  const isDrained =
    node !== undefined &&
    maintenances.on(node.metadata.name).some((each) => stageOf(each) === 'Drain' && selectsNode(each, node));
  // Our copy of a maintenance may not show yet by which targets the request was made.
  if (isDrained || clock.monotonic() - begunAt < YOUNG_TERM_MS) {
    const fresh = await context.readMaintenances(signal);
    if (retentionOf(context, request, () => fresh) !== step) return;
  }
  if (step === 'delete') {
    await deleteRequest(client, request, signal);
    return;
  }
  if (!(await withdrawEntry(client, request, signal))) return;
  log.info({ request: keyOf(request), pod: targetKeyOf(request) }, 'withdrew from eviction request');
}
