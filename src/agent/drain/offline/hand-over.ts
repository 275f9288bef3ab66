import type { DrainPlanEntry, NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { targetsCover } from '../../../decide/maintenance/drain-plan.ts';
import { handedOverStatuses, identityOf, type NodeIdentity } from '../../../decide/maintenance/recorded-node.ts';
import { mayHandOver, remakeAt, type Shutdown } from '../../../decide/shutdown/phase.ts';
import { drainPodOf, isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import { deleteDisrupted } from '../../../kube/eviction/evictor.ts';
import { listAll } from '../../../kube/list.ts';
import { collectionPath, keyOf, NODE_MAINTENANCES, objectPath, onNode, PODS } from '../../../kube/resource.ts';
import { sendForObject } from '../../../kube/request.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { OwnMaintenances } from '../../cluster/own-maintenances.ts';
import type { OwnNode } from '../../cluster/own-node.ts';
import type { AgentRecord } from '../../phase/record.ts';
import type { StaticPods } from '../../static-pods/static-pods.ts';
import type { OfflinePods } from './stop-pods.ts';

interface HandOverCluster {
  readonly own: Pick<OwnMaintenances, 'state' | 'create'>;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  readonly client: KubeClient;
}

/** The drain of a shutdown, and what it has reached. */
type LocalDrain = Shutdown & { readonly targets: readonly DrainPlanEntry[] };

/** What a drain is handed over with. */
export interface HandOverParts {
  readonly config: { readonly drainPlan: readonly DrainPlanEntry[] };
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined where no cluster is configured. */
  readonly cluster: HandOverCluster | undefined;
  readonly offlinePods: Pick<OfflinePods, 'observe' | 'giveBack'>;
  readonly staticPods: Pick<StaticPods, 'stuck'>;
}

const EVERY_MS = 5_000;
/**
 * For this time the API server has to answer, with the node cordoned, before pods are deleted there: a scheduler that had
 * lost the API server too does not know of the cordon yet, and would bind the replacements to this node.
 */
const STEADY_MS = 15_000;
/** An attempt ends after these times, so that the loop continues: the first call, and all calls together. */
const ASK_MS = 2_000;
const CALL_MS = 10_000;

/**
 * Hands a local drain over to the cluster when its API server is back: the NodeMaintenance with the targets that were
 * reached, so that no controller begins from the first entry and no DaemonSet pod comes back; then the cordon; then the pods
 * that have ended here are deleted there, because the kubelet would start them again; then the kubelet.
 */
export class HandOver {
  readonly #parts: HandOverParts;
  /** The last attempt, on the monotonic clock; undefined before the first. */
  #triedAt: number | undefined;
  #answersSince: number | undefined;
  #isDone = false;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  /**
   * Takes all steps of the hand-over that can be taken now, every five seconds at most; each may be repeated. Returns whether
   * the cluster goes on with the drain, and nothing is left for this agent to do in its place.
   */
  async attempt({ phase, offlineTargets: targets }: AgentRecord, signal: AbortSignal): Promise<boolean> {
    const { cluster, clock, log, staticPods } = this.#parts;
    // What an earlier attempt came to does not count for this one, even where it throws.
    this.#isDone = false;
    // In the cluster only the kubelet could end pods whose manifests cannot be moved, and it does not.
    if (cluster === undefined || staticPods.stuck().size > 0) return false;
    if (phase.kind !== 'draining' || phase.mode !== 'offline' || !mayHandOver(phase)) return false;
    const now = clock.monotonic();
    if ((this.#triedAt !== undefined && now - this.#triedAt < EVERY_MS) || now < remakeAt(phase)) return false;
    this.#triedAt = now;
    try {
      this.#isDone = await this.#handOver(cluster, { ...phase, targets }, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#answersSince = undefined;
      log.debug({ reason: describeError(error) }, 'cannot hand the drain over to the cluster yet');
    }
    return this.#isDone;
  }

  /** Whether the last attempt handed the drain over. */
  isDone(): boolean {
    return this.#isDone;
  }

  /** Whether the API server is back and will soon have taken the drain over. */
  isUnderWay(): boolean {
    const { clock } = this.#parts;
    return this.#answersSince !== undefined && clock.monotonic() - this.#answersSince < 2 * STEADY_MS;
  }

  async #handOver({ client, own, ownNode }: HandOverCluster, drain: LocalDrain, outer: AbortSignal): Promise<boolean> {
    const { config, nodeName, clock, log, offlinePods } = this.#parts;
    const within = (ms: number): AbortSignal => AbortSignal.any([outer, AbortSignal.timeout(ms)]);
    const ask = within(ASK_MS);
    // Without a Node object no controller drains the node.
    const seen = await ownNode.observe(0, ask);
    if (seen.kind === 'absent') return false;
    const node = seen.kind === 'present' ? identityOf(seen.node.metadata) : { name: nodeName };
    const { maintenance: name, targets } = drain;
    if (own.state(name) === 'absent') await own.create(drain, config.drainPlan, ask);
    if (own.state(name) !== 'open') return false;
    if (!(await recordTargets(client, { name, node }, { targets, now: clock.now() }, ask))) return false;
    const signal = within(CALL_MS);
    await syncCordon(client, { node: nodeName, wantedBy: [name] }, signal);
    this.#answersSince ??= clock.monotonic();
    if (clock.monotonic() - this.#answersSince < STEADY_MS) return false;
    // Nothing has ended here where nothing was reached.
    if (targets.length > 0 && !(await this.#deleteEnded(client, targets, signal))) return false;
    if (!(await offlinePods.giveBack(signal))) return false;
    log.info({ maintenance: name }, 'the API server is back, handed the drain over');
    return true;
  }

  /** Deletes the pods that the targets cover and of which the runtime shows nothing any more; false where it shows nothing at all. */
  async #deleteEnded(client: KubeClient, targets: LocalDrain['targets'], signal: AbortSignal): Promise<boolean> {
    const { clock, log, nodeName, offlinePods } = this.#parts;
    const view = await offlinePods.observe(signal);
    if (view.kind === 'unseen') {
      // As soon as the runtime answers, and before the offline drain ends a pod whose budget could be asked again.
      this.#triedAt = undefined;
      return false;
    }
    const alive = new Set(view.pods.map(({ uid }) => uid));
    const place = { path: collectionPath(PODS), query: { fieldSelector: onNode(nodeName) } };
    for (const pod of (await listAll<Pod>(client, place, (each) => each, signal)).items) {
      const { uid = '', deletionTimestamp } = pod.metadata;
      const ended = podTypeOf(pod) !== 'Static' && !alive.has(uid) && targetsCover(targets, drainPodOf(pod));
      if (!ended || deletionTimestamp !== undefined || isTerminal(pod)) continue;
      await deleteDisrupted(client, pod, { now: clock.now() }, signal);
      log.info({ pod: keyOf(pod) }, 'deleted pod that was drained locally');
    }
    return true;
  }
}

/**
 * Adds what the local drain has reached to the status of the maintenance, where it is not recorded yet. Returns whether it is now:
 * a controller that is back already may write at the same time, and what it has recorded stays.
 */
async function recordTargets(
  client: KubeClient,
  { name, node }: { readonly name: string; readonly node: NodeIdentity },
  reached: { readonly targets: readonly DrainPlanEntry[]; readonly now: number },
  signal: AbortSignal,
): Promise<boolean> {
  const read = { method: 'GET', path: objectPath(NODE_MAINTENANCES, { name }) } as const;
  const known = await sendForObject<NodeMaintenance>(client, read, [404], signal);
  if (known === undefined) return false;
  const nodeStatuses = handedOverStatuses(known.status, node, reached);
  if (nodeStatuses === undefined) return true;
  const { resourceVersion = '' } = known.metadata;
  const body = { metadata: { resourceVersion }, status: { nodeStatuses } };
  const path = objectPath(NODE_MAINTENANCES, { name }, 'status');
  const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
  return (await sendForObject(client, change, [404, 409], signal)) !== undefined;
}
