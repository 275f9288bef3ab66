import type { EvictionRequest } from '../../api/eviction-request.ts';
import { COMPLETION_FINALIZER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideRetention, drainsOn, type RetentionStep } from '../../decide/drain/retention.ts';
import { isMadeByDrain, targetKeyOf } from '../../decide/eviction/request.ts';
import { selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { deleteRequest, withdrawEntry } from '../../kube/eviction/requester-entry.ts';
import { keyOf } from '../../kube/resource.ts';
import type { MaintenanceIndex } from '../cache/maintenances.ts';
import { targetOf } from '../cache/targets.ts';
import type { ControllerContext } from '../context.ts';
import { createMaintenanceRead } from '../daemon-set/shared-read.ts';

/** In this time of a term a copy of a maintenance may be older than what the former leader did by it. */
const YOUNG_TERM_MS = 60_000;

/** Takes back what the controller asked for and no drain wants any more. */
interface RequestCleanup {
  /** One step of one request. */
  act(request: EvictionRequest, signal: AbortSignal): Promise<void>;
  /** Forgets a request that is gone, by its key. */
  forget(key: string): void;
}

/** Whether a maintenance of the node is being completed. */
function isCompleting(maintenances: readonly NodeMaintenance[], node: Node | undefined): boolean {
  if (node === undefined) return false;
  return maintenances.some((each) => {
    const hasFinalizer = each.metadata.finalizers?.includes(COMPLETION_FINALIZER) === true;
    return hasFinalizer && stageOf(each) === 'Complete' && selectsNode(each, node);
  });
}

/** The node of the target, or the one that the request is marked with. */
function nodeOf(context: Pick<ControllerContext, 'pods' | 'nodes'>, request: EvictionRequest): Node | undefined {
  return context.nodes.get(targetOf(context.pods, request)?.spec.nodeName ?? requestNodeOf(request.metadata));
}

/**
 * What is to be done about a request by the maintenances that may concern its node; `wasWithdrawn` says whether the controller
 * withdrew from it.
 */
export function retentionOf(
  context: Pick<ControllerContext, 'pods' | 'nodes'>,
  request: EvictionRequest,
  maintenancesOn: (node: string) => readonly NodeMaintenance[],
  wasWithdrawn: boolean,
): RetentionStep {
  const pod = targetOf(context.pods, request);
  const node = nodeOf(context, request);
  const maintenances = node === undefined ? [] : maintenancesOn(node.metadata.name);
  // The controller may have withdrawn without knowing that it did: in a former term, by a call whose answer was lost, or while
  // its copy of the request was older.
  const isReleased = wasWithdrawn || isMadeByDrain(request) || isCompleting(maintenances, node);
  return decideRetention(request, { pod, drains: drainsOn(maintenances, node), isReleased });
}

export function createRequestCleanup(context: ControllerContext): RequestCleanup {
  const { client, clock, log, maintenances } = context;
  const begunAt = clock.monotonic();
  /** The requests of a former term: what this leader asks for itself it knows the reasons of. */
  const inherited = new Set(context.requests.list().map(({ metadata }) => metadata.uid));
  /** By key: the UID of the request that the controller withdrew from. */
  const withdrawn = new Map<string, string | undefined>();
  const readMaintenances = createMaintenanceRead(context);
  const stepOf = (request: EvictionRequest, on: MaintenanceIndex['on']): RetentionStep => {
    const key = keyOf(request);
    const wasWithdrawn = withdrawn.has(key) && withdrawn.get(key) === request.metadata.uid;
    return retentionOf(context, request, on, wasWithdrawn);
  };
  /** Whether our copy of a maintenance may not show yet by which targets the request was made. */
  const mayBeOld = (request: EvictionRequest): boolean => {
    const node = nodeOf(context, request);
    if (clock.monotonic() - begunAt < YOUNG_TERM_MS && inherited.has(request.metadata.uid)) return true;
    if (node === undefined) return false;
    return maintenances.on(node.metadata.name).some((each) => stageOf(each) === 'Drain' && selectsNode(each, node));
  };
  return {
    act: async (request, signal) => {
      const step = stepOf(request, (node) => maintenances.on(node));
      if (step === 'keep') return;
      if (mayBeOld(request)) {
        const fresh = await readMaintenances(signal);
        if (stepOf(request, () => fresh) !== step) return;
      }
      if (step === 'delete') {
        await deleteRequest(client, request, signal);
        return;
      }
      if (!(await withdrawEntry(client, request, signal))) return;
      withdrawn.set(keyOf(request), request.metadata.uid);
      log.info({ request: keyOf(request), pod: targetKeyOf(request) }, 'withdrew from eviction request');
    },
    forget: (key) => {
      withdrawn.delete(key);
    },
  };
}
