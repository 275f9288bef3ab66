/**
 * The gate of this node's DaemonSet pods after a maintenance, while no controller lives to take it away. The network of
 * the node may be among those pods, and with it every controller that could be started: a cluster that went down as a
 * whole must not need one to come back.
 */
import { CONTROLLER_NAMESPACE, HELD_FOR_LABEL } from '../../api/names.ts';
import type { KubeObject } from '../../api/meta.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, DAEMON_SETS, onNode, PODS } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { createLogOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';

/** An account that may do this and nothing else (manifests/rbac/agent.yaml); a node's own identity may not. */
const RELEASE_ACCOUNT = `system:serviceaccount:${CONTROLLER_NAMESPACE}:nodemaint-agent-release`;
const MAX_LABEL = 63;
/** After the start of a whole cluster all nodes ask in the same minutes. */
const AT_ONCE = 2;
const TRY_EVERY_MS = 5_000;
/** Between two tries where agents may not act as the account, at the most: an administrator may give it back. */
const MAX_REFUSED_WAIT_MS = 600_000;

interface List {
  readonly items: readonly KubeObject[];
}

/** Whether agents may not act as the account at all, as where an administrator has left it out. */
function isImpersonationRefused(refusal: string): boolean {
  return refusal.includes('cannot impersonate');
}

/** The words of a refusal; throws everything else. */
function refusalOf(error: unknown): string {
  if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
  return describeError(error);
}

/** Deletes the pods at the gate in one namespace and returns how many they were. */
async function releaseIn(
  { client, log, nodeName }: ClusterDependencies,
  namespace: string,
  signal: AbortSignal,
): Promise<number> {
  const selectors = { labelSelector: `${HELD_FOR_LABEL}=${nodeName}`, fieldSelector: onNode('') };
  const path = `${collectionPath(PODS, namespace)}?${new URLSearchParams(selectors).toString()}`;
  const gone = await sendForObject<List>(client, { method: 'DELETE', path, as: RELEASE_ACCOUNT }, [404], signal);
  const pods = (gone?.items ?? []).map(({ metadata }) => `${namespace}/${metadata.name}`);
  if (pods.length > 0) log.info({ pods }, 'released gated DaemonSet pods of own node');
  return pods.length;
}

/** The namespaces that have DaemonSets, for no other pods are gated: a few, where a cluster may have hundreds. */
async function namespacesToAsk({ client }: ClusterDependencies, signal: AbortSignal): Promise<readonly string[]> {
  const place = { path: collectionPath(DAEMON_SETS), as: RELEASE_ACCOUNT, namesOnly: true };
  const found = await listAll(client, place, ({ metadata }) => metadata.namespace ?? 'default', signal);
  return [...new Set(found.items)];
}

/** The release of the node's DaemonSet pods from their gate, which has to follow each maintenance. */
export class GateRelease {
  readonly #dependencies: ClusterDependencies;
  readonly #warnOnce: LogOnce;
  /** Whether a maintenance has just ended, and no release followed it. */
  #isFresh = false;
  /** The last try, on the monotonic clock. */
  #triedAt = -Infinity;
  /** How long the next try waits because agents may not act as the account: an API server that has just started may err. */
  #refusedMs = 0;

  constructor(dependencies: ClusterDependencies) {
    const { log } = dependencies;
    this.#dependencies = dependencies;
    this.#warnOnce = createLogOnce((reason) => {
      if (isImpersonationRefused(reason))
        log.warn(
          { reason },
          'gated DaemonSet pods of own node wait for a controller: agents may not release them here',
        );
      else log.warn({ reason }, 'cannot release gated DaemonSet pods of own node, trying again');
    });
  }

  /** Notes that a maintenance of the node is in progress: pods may wait at the gate when it is over. */
  begin(): void {
    this.#isFresh = true;
    this.#triedAt = -Infinity;
    this.#refusedMs = 0;
  }

  /** Whether it is time for a try. */
  isDue(): boolean {
    return this.#dependencies.clock.monotonic() - this.#triedAt >= this.#refusedMs;
  }

  /**
   * Deletes the pods that wait at the gate of the node, so that their DaemonSets create them again, without the gate. Returns
   * whether none can be left. Throws API_UNREACHABLE; a refusal is logged and tried again.
   */
  async release(signal: AbortSignal): Promise<boolean> {
    const { clock, log, nodeName } = this.#dependencies;
    const now = clock.monotonic();
    if (now - this.#triedAt < TRY_EVERY_MS) return false;
    this.#triedAt = now;
    if (nodeName.length > MAX_LABEL) {
      log.warn({ node: nodeName }, 'gated DaemonSet pods of a node with so long a name wait for a controller');
      return true;
    }
    try {
      // API servers' copies of the maintenances lag: a pod that is created right after a maintenance can still be gated.
      // After a boot it ended long before.
      const isDone = (await this.#releaseAll(signal)) && !this.#isFresh;
      this.#isFresh = false;
      this.#refusedMs = 0;
      return isDone;
    } catch (error) {
      const refusal = refusalOf(error);
      this.#warnOnce(refusal);
      if (isImpersonationRefused(refusal))
        this.#refusedMs = Math.min(Math.max(this.#refusedMs * 2, TRY_EVERY_MS), MAX_REFUSED_WAIT_MS);
      return false;
    }
  }

  /** Releases in all namespaces: one that is refused keeps no other from its release. Returns whether nothing was left to release. */
  async #releaseAll(signal: AbortSignal): Promise<boolean> {
    const namespaces = await namespacesToAsk(this.#dependencies, signal);
    let refusal: string | undefined;
    let isDone = true;
    const releaseOne = async (name: string): Promise<void> => {
      try {
        if ((await releaseIn(this.#dependencies, name, signal)) > 0) isDone = false;
      } catch (error) {
        refusal ??= refusalOf(error);
        isDone = false;
      }
    };
    for (let first = 0; first < namespaces.length; first += AT_ONCE) {
      await Promise.all(namespaces.slice(first, first + AT_ONCE).map(releaseOne));
    }
    this.#warnOnce(refusal);
    return isDone;
  }
}
