import type { EvictionRequest } from '../../api/eviction-request.ts';
import { COMPLETION_FINALIZER, MAINTENANCE_UID_LABEL, NODE_LABEL } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { decideRetention, drainsOn, type RetentionStep } from '../../decide/drain/retention.ts';
import { isMadeByDrain, targetKeyOf } from '../../decide/eviction/request.ts';
import { selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { transformMaintenance } from '../../kube/copy/transform.ts';
import { deleteRequest, deleteRequests, withdrawEntry } from '../../kube/eviction/requester-entry.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, keyOf, NODE_MAINTENANCES } from '../../kube/resource.ts';
import type { MaintenanceIndex } from '../cache/maintenances.ts';
import { targetOf } from '../cache/targets.ts';
import type { ControllerContext } from '../context.ts';
import { createSharedRead } from '../daemon-set/shared-read.ts';

/**
 * Deletes finished requests: those that one maintenance has made on one node, in one namespace, by one call. The call has no
 * precondition for each of them, and needs none. It finds those with the UID of one maintenance, which nobody else writes; each
 * is over in our copy, and one that is over stays so: whoever wants the pod to leave afterwards makes another one. None is added
 * meanwhile, for no drain is under way on the node. A drain that begins again in that very moment asks anew for what is gone.
 */
interface RequestRemoval {
  /**
   * Deletes a request that nobody needs any more, and its group with it where that is true of each of them: `isRemovable`
   * judges the others, and says no while a drain may still make another one for the group.
   */
  remove(
    request: EvictionRequest,
    isRemovable: (request: EvictionRequest) => boolean,
    signal: AbortSignal,
  ): Promise<void>;
  /** Forgets a request that is gone, by its key. */
  forget(key: string): void;
}

/** Requests that a selector of labels finds. */
interface Group {
  readonly id: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly EvictionRequest[];
}

type Requests = Pick<ControllerContext, 'requests'>;

/** The requests on the node of this one that have its namespace and its maintenance; undefined where no label says so. */
function groupOf({ requests }: Requests, { metadata }: EvictionRequest): Group | undefined {
  const { namespace = '', labels = {} } = metadata;
  const { [NODE_LABEL]: node, [MAINTENANCE_UID_LABEL]: maintenance } = labels;
  const [nodeName] = requests.nodesOf(keyOf({ metadata }));
  if (node === undefined || maintenance === undefined || nodeName === undefined) return undefined;
  const members = [...requests.onNode(nodeName)].flatMap((key) => {
    const each = requests.get(key);
    const isMember = each?.metadata.namespace === namespace && each.metadata.labels?.[NODE_LABEL] === node;
    return each !== undefined && isMember && each.metadata.labels?.[MAINTENANCE_UID_LABEL] === maintenance
      ? [each]
      : [];
  });
  const selected = { [NODE_LABEL]: node, [MAINTENANCE_UID_LABEL]: maintenance };
  return { id: `${namespace}/${node}/${maintenance}`, namespace, labels: selected, members };
}

function createRequestRemoval(context: Pick<ControllerContext, 'client' | 'log' | 'requests'>): RequestRemoval {
  const { client, log } = context;
  /** By key: the UID of a request that was deleted with its group, until our copy shows it. */
  const removed = new Map<string, string | undefined>();
  const underWay = new Map<string, Promise<boolean>>();
  /** The namespaces in which we may not delete by one call. */
  const refusedIn = new Set<string>();

  const removeGroup = async ({ namespace, labels, members }: Group, signal: AbortSignal): Promise<boolean> => {
    if (!(await deleteRequests(client, namespace, labels, signal))) {
      refusedIn.add(namespace);
      return false;
    }
    for (const each of members) removed.set(keyOf(each), each.metadata.uid);
    log.info({ namespace, labels, requests: members.length }, 'deleted finished requests of a node');
    return true;
  };

  return {
    remove: async (request, isRemovable, signal) => {
      const group = groupOf(context, request);
      const earlier = group === undefined ? undefined : underWay.get(group.id);
      await earlier?.catch(() => false);
      if (removed.has(keyOf(request)) && removed.get(keyOf(request)) === request.metadata.uid) return;
      // One that is not over, or that others have joined, is in the way of all: the call cannot leave it out.
      const isWhole = earlier === undefined && group !== undefined && group.members.length > 1;
      if (isWhole && !refusedIn.has(group.namespace) && group.members.every((each) => isRemovable(each))) {
        const call = removeGroup(group, signal);
        underWay.set(group.id, call);
        try {
          if (await call) return;
        } finally {
          underWay.delete(group.id);
        }
      }
      await deleteRequest(client, request, signal);
    },
    forget: (key) => {
      removed.delete(key);
    },
  };
}

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
  const removal = createRequestRemoval(context);
  /** The requests of a former term: what this leader asks for itself it knows the reasons of. */
  const inherited = new Set(context.requests.list().map(({ metadata }) => metadata.uid));
  /** By key: the UID of the request that the controller withdrew from. */
  const withdrawn = new Map<string, string | undefined>();
  const readMaintenances = createSharedRead(async (signal) => {
    const place = { path: collectionPath(NODE_MAINTENANCES) };
    const { items } = await listAll<NodeMaintenance>(client, place, transformMaintenance, signal);
    return items.map((item) => maintenances.withRebootApplied(item));
  });
  const stepOf = (request: EvictionRequest, on: MaintenanceIndex['on']): RetentionStep => {
    const key = keyOf(request);
    const wasWithdrawn = withdrawn.has(key) && withdrawn.get(key) === request.metadata.uid;
    return retentionOf(context, request, on, wasWithdrawn);
  };
  /** Whether a drain may make requests on the node of this one meanwhile, with the same labels. */
  const mayGetMore = ({ metadata }: EvictionRequest): boolean =>
    maintenances.on(requestNodeOf(metadata)).some((each) => stageOf(each) === 'Drain');
  /** Whether our copy of a maintenance may not show yet by which targets the request was made. */
  const mayBeOld = (request: EvictionRequest): boolean => {
    const node = nodeOf(context, request);
    if (clock.monotonic() - begunAt < YOUNG_TERM_MS && inherited.has(request.metadata.uid)) return true;
    if (node === undefined) return false;
    return maintenances.on(node.metadata.name).some((each) => stageOf(each) === 'Drain' && selectsNode(each, node));
  };
  return {
    act: async (request, signal) => {
      let on: MaintenanceIndex['on'] = (node) => maintenances.on(node);
      const step = stepOf(request, on);
      if (step === 'keep') return;
      if (mayBeOld(request)) {
        const fresh = await readMaintenances(signal);
        on = () => fresh;
        if (stepOf(request, on) !== step) return;
      }
      if (step === 'delete') {
        await removal.remove(request, (other) => stepOf(other, on) === 'delete' && !mayGetMore(other), signal);
        return;
      }
      if (!(await withdrawEntry(client, request, signal))) return;
      withdrawn.set(keyOf(request), request.metadata.uid);
      log.info({ request: keyOf(request), pod: targetKeyOf(request) }, 'withdrew from eviction request');
    },
    forget: (key) => {
      withdrawn.delete(key);
      removal.forget(key);
    },
  };
}
