/**
 * The gate of this node's DaemonSet pods after a maintenance, while no controller lives to take it away. The network of
 * the node may be among those pods, and with it every controller that could be started: a cluster that went down as a
 * whole must not need one to come back.
 */
import type { KubeObject } from '../../../api/meta.ts';
import { HELD_FOR_LABEL } from '../../../api/names.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import { listAll } from '../../../kube/list.ts';
import { collectionPath, DAEMON_SETS, PODS, sendForObject } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/cluster.ts';

/** An account that may do this and nothing else (manifests/rbac/agent.yaml); a node's own identity may not. */
const RELEASE_ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-agent-release';
const MAX_LABEL = 63;
const AT_ONCE = 8;
const TRY_EVERY_MS = 5_000;

interface List {
  readonly items: readonly KubeObject[];
}

/** How many pods went, and why not more where something was refused. */
interface Release {
  readonly released: number;
  readonly refusal: string | undefined;
}

/** The words of a refusal; throws everything else. */
function refusalOf(error: unknown): string {
  if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
  return describeError(error);
}

/** The gates of the node's DaemonSet pods, which somebody has to take away after a maintenance. */
export interface SelfGates {
  /** Notes that a maintenance of the node is in progress: it may hold pods when it is over. */
  arm(): void;
  /** Notes that a controller lives, which takes the gates away itself. */
  leaveToController(): void;
  /** Whether there may be pods to release; `unless` counts where nothing is known yet. */
  isArmed(unless: boolean): boolean;
  /**
   * Deletes the pods that are held for the node, so that their DaemonSets make them anew, without the gate. Throws
   * API_UNREACHABLE; a refusal is logged and tried again.
   */
  release(signal: AbortSignal): Promise<void>;
}

/** Makes the memory of what may be held, which is undecided at first: the agent may have been started by a boot. */
export function createSelfGates({ client, clock, log, nodeName }: ClusterDependencies): SelfGates {
  const query = new URLSearchParams({
    labelSelector: `${HELD_FOR_LABEL}=${nodeName}`,
    fieldSelector: 'spec.nodeName=',
  }).toString();
  let armed: boolean | undefined;
  let triedAt = -Infinity;
  let complained = '';

  const complain = (reason: string): void => {
    if (reason !== complained) log.warn({ reason }, 'cannot release held DaemonSet pods of own node, trying again');
    complained = reason;
  };

  const releaseIn = async (namespace: string, signal: AbortSignal): Promise<number> => {
    const path = `${collectionPath(PODS, namespace)}?${query}`;
    const gone = await sendForObject<List>(client, { method: 'DELETE', path, as: RELEASE_ACCOUNT }, [404], signal);
    const pods = (gone?.items ?? []).map(({ metadata }) => `${namespace}/${metadata.name}`);
    if (pods.length > 0) log.info({ pods }, 'released held DaemonSet pods of own node');
    return pods.length;
  };

  /** Those that have DaemonSets, for no other pods are held: a few, where a cluster may have hundreds. */
  const namespacesToAsk = async (signal: AbortSignal): Promise<readonly string[]> => {
    const place = { path: collectionPath(DAEMON_SETS), as: RELEASE_ACCOUNT, namesOnly: true };
    const found = await listAll(client, place, [], ({ metadata }) => metadata.namespace ?? 'default', signal);
    return [...new Set(found.items)];
  };

  /** A namespace that is refused, whatever somebody has put there, keeps no other one from it. */
  const releaseAll = async (signal: AbortSignal): Promise<Release> => {
    const namespaces = await namespacesToAsk(signal);
    let released = 0;
    let refusal: string | undefined;
    for (let first = 0; first < namespaces.length; first += AT_ONCE) {
      const some = namespaces.slice(first, first + AT_ONCE);
      const counts = await Promise.all(
        some.map((name) =>
          releaseIn(name, signal).catch((error: unknown) => {
            refusal ??= refusalOf(error);
            return 0;
          }),
        ),
      );
      for (const count of counts) released += count;
    }
    return { released, refusal };
  };

  return {
    arm: () => {
      armed = true;
      triedAt = -Infinity;
    },
    leaveToController: () => {
      armed = false;
    },
    isArmed: (unless) => armed ?? unless,
    release: async (signal) => {
      const now = clock.monotonic();
      armed = true;
      if (now - triedAt < TRY_EVERY_MS) return;
      const isFirst = triedAt === -Infinity;
      triedAt = now;
      if (nodeName.length > MAX_LABEL) {
        log.warn({ node: nodeName }, 'held DaemonSet pods of a node with so long a name wait for a controller');
        armed = false;
        return;
      }
      try {
        const { released, refusal } = await releaseAll(signal);
        // API servers' copies of the maintenances lag: a pod that is made right after a maintenance can still be held.
        armed = released > 0 || isFirst || refusal !== undefined;
        if (refusal !== undefined) complain(refusal);
      } catch (error) {
        complain(refusalOf(error));
      }
    },
  };
}
