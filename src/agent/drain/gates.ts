/**
 * The gate of this node's DaemonSet pods after a maintenance, while no controller lives to take it away. The network of
 * the node may be among those pods, and with it every controller that could be started: a cluster that went down as a
 * whole must not need one to come back.
 */
import type { KubeObject } from '../../api/meta.ts';
import { HELD_FOR_LABEL } from '../../api/names.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, DAEMON_SETS, onNode, PODS, sendForObject } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';

/** An account that may do this and nothing else (manifests/rbac/agent.yaml); a node's own identity may not. */
const RELEASE_ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-agent-release';
const MAX_LABEL = 63;
/** After the start of a whole cluster all nodes ask in the same minutes. */
const AT_ONCE = 2;
const TRY_EVERY_MS = 5_000;
/** Between two tries where agents may not act as the account, at the most: an administrator may give it back. */
const MAX_REFUSED_WAIT_MS = 600_000;

interface List {
  readonly items: readonly KubeObject[];
}

/** The namespaces in which pods went or that were refused, where more may follow; and why something was refused. */
interface Release {
  readonly unfinished: readonly string[];
  readonly refusal: string | undefined;
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

/** The gates of the node's DaemonSet pods, which have to be taken away after a maintenance. */
export interface SelfGates {
  /** Notes that a maintenance of the node is in progress: pods may wait at the gate when it is over. */
  arm(): void;
  /** Notes that a controller is alive, which takes the gates away itself. */
  leaveToController(): void;
  /** Whether there may be pods to release; `fallback` is returned until that is known. */
  isArmed(fallback: boolean): boolean;
  /**
   * Deletes the pods that wait at the gate of the node, so that their DaemonSets create them again, without the gate.
   * Throws API_UNREACHABLE; a refusal is logged and tried again.
   */
  release(signal: AbortSignal): Promise<void>;
}

/** Whether pods may wait at the gate. An agent that has just started does not know: a boot may have started it. */
type State =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'armed' }
  /** Released once already; `triedAt` is on the monotonic clock. Without `namespaces` it goes on in all of them. */
  | { readonly kind: 'retrying'; readonly triedAt: number; readonly namespaces?: readonly string[] }
  /** Refused to act as the account. An API server that has just started may refuse that by mistake, so it is tried again. */
  | { readonly kind: 'refused'; readonly triedAt: number; readonly waitMs: number }
  | { readonly kind: 'clear' };

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

/** Releases in the namespaces: one that is refused keeps no other from its release. */
async function releaseAll(
  dependencies: ClusterDependencies,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<Release> {
  const unfinished: string[] = [];
  let refusal: string | undefined;
  const releaseOne = async (name: string): Promise<void> => {
    const released = await releaseIn(dependencies, name, signal).catch((error: unknown) => {
      refusal ??= refusalOf(error);
      return 1;
    });
    if (released > 0) unfinished.push(name);
  };
  for (let first = 0; first < namespaces.length; first += AT_ONCE) {
    await Promise.all(namespaces.slice(first, first + AT_ONCE).map(releaseOne));
  }
  return { unfinished, refusal };
}

export function createSelfGates(dependencies: ClusterDependencies): SelfGates {
  const { clock, log, nodeName } = dependencies;
  let state: State = { kind: 'unknown' };
  const warnOnce = createLogOnce((reason) => {
    if (isImpersonationRefused(reason))
      log.warn({ reason }, 'gated DaemonSet pods of own node wait for a controller: agents may not release them here');
    else log.warn({ reason }, 'cannot release gated DaemonSet pods of own node, trying again');
  });
  /** The state after a try whose refusal says that agents may not act as the account; the waits become longer. */
  const refusedAfter = (before: State, triedAt: number): State => {
    const waitMs = before.kind === 'refused' ? Math.min(before.waitMs * 2, MAX_REFUSED_WAIT_MS) : TRY_EVERY_MS;
    return { kind: 'refused', triedAt, waitMs };
  };
  return {
    arm: () => {
      state = { kind: 'armed' };
    },
    leaveToController: () => {
      state = { kind: 'clear' };
    },
    isArmed: (fallback) => {
      if (state.kind === 'unknown') return fallback;
      if (state.kind === 'refused') return clock.monotonic() - state.triedAt >= state.waitMs;
      return state.kind !== 'clear';
    },
    release: async (signal) => {
      const now = clock.monotonic();
      if (state.kind === 'retrying' && now - state.triedAt < TRY_EVERY_MS) return;
      const before = state;
      state = { ...before, kind: 'retrying', triedAt: now };
      if (nodeName.length > MAX_LABEL) {
        log.warn({ node: nodeName }, 'gated DaemonSet pods of a node with so long a name wait for a controller');
        state = { kind: 'clear' };
        return;
      }
      try {
        const known = before.kind === 'retrying' ? before.namespaces : undefined;
        const namespaces = known ?? (await namespacesToAsk(dependencies, signal));
        const { unfinished, refusal } = await releaseAll(dependencies, namespaces, signal);
        warnOnce(refusal);
        // API servers' copies of the maintenances lag: a pod that is created right after a maintenance can still be gated.
        // After a boot it ended long before.
        if (before.kind === 'armed') state = { kind: 'retrying', triedAt: now };
        else if (unfinished.length > 0) state = { kind: 'retrying', triedAt: now, namespaces: unfinished };
        else state = { kind: 'clear' };
      } catch (error) {
        const refusal = refusalOf(error);
        warnOnce(refusal);
        if (isImpersonationRefused(refusal)) state = refusedAfter(before, now);
      }
    },
  };
}
