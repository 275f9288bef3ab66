import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_UID_LABEL, NODE_LABEL } from '../../api/names.ts';
import { deleteRequest, deleteRequests } from '../../kube/eviction/requester-entry.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';

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

export function createRequestRemoval(context: Pick<ControllerContext, 'client' | 'log' | 'requests'>): RequestRemoval {
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
