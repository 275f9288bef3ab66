import type { DrainPlanEntry } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { effectiveDrainPlan, targetsCover } from '../../../decide/drain/plan.ts';
import { mayHandOver } from '../../../decide/shutdown/phase.ts';
import { drainPodOf, isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import { deletePod } from '../../../kube/eviction/evictor.ts';
import { listAll } from '../../../kube/list.ts';
import {
  collectionPath,
  keyOf,
  NODE_MAINTENANCES,
  objectPath,
  onNode,
  PODS,
  sendForObject,
} from '../../../kube/resource.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { OwnMaintenances } from '../../cluster/own-maintenances.ts';
import type { AgentRecord } from '../../shutdown/record.ts';
import type { OfflinePods } from './offline-pods.ts';

/** The way back from a local drain. */
export interface HandOver {
  /**
   * Tries it, where that was not tried just now. Returns whether the cluster goes on from here and all that was the agent's
   * to do is done; each step may be repeated.
   */
  attempt(record: AgentRecord, signal: AbortSignal): Promise<boolean>;
}

export interface HandOverDependencies {
  readonly config: { readonly drainPlan: readonly DrainPlanEntry[] };
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined where no cluster is configured; so is the client. */
  readonly cluster: Pick<OwnMaintenances, 'state' | 'create'> | undefined;
  readonly client: KubeClient | undefined;
  /** Undefined where the kubelet cannot be stopped. */
  readonly offlinePods: Pick<OfflinePods, 'observe' | 'giveBack'> | undefined;
}

const EVERY_MS = 5_000;
/**
 * So long the API server has to answer and the node to be cordoned before pods are deleted there: a scheduler that was away
 * from it as well still takes the node for free, and would put their replacements on it.
 */
const STEADY_MS = 15_000;
/** No try may keep the loop for longer: first to see whether anybody answers at all, then to the end. */
const ASK_MS = 2_000;
const CALL_MS = 10_000;

/**
 * Hands a local drain over to the cluster when its API server is back: the NodeMaintenance with the targets that were
 * reached, so that nobody begins anew and no DaemonSet pod comes back; then the cordon, and the pods that have ended here
 * are deleted there, for the kubelet would start them again; then the kubelet.
 */
export function createHandOver(dependencies: HandOverDependencies): HandOver {
  const { client, clock, cluster, config, offlinePods, log, nodeName } = dependencies;
  let triedAt = -Infinity;
  let answersSince: number | undefined;

  const deleteEnded = async (
    api: KubeClient,
    alive: ReadonlySet<string>,
    targets: readonly DrainPlanEntry[],
    signal: AbortSignal,
  ): Promise<void> => {
    const place = { path: collectionPath(PODS), query: { fieldSelector: onNode(nodeName) } };
    for (const pod of (await listAll<Pod>(api, place, (each) => each, signal)).items) {
      const { uid = '', deletionTimestamp } = pod.metadata;
      const ended = podTypeOf(pod) !== 'Static' && !alive.has(uid) && targetsCover(targets, drainPodOf(pod));
      if (!ended || deletionTimestamp !== undefined || isTerminal(pod)) continue;
      await deletePod(api, pod, {}, signal);
      log.info({ pod: keyOf(pod) }, 'deleted pod that was drained locally');
    }
  };

  return {
    attempt: async ({ phase, offlineTargets }, outer) => {
      if (cluster === undefined || client === undefined) return false;
      if (phase.kind !== 'draining' || phase.mode !== 'offline' || !mayHandOver(phase)) return false;
      if (clock.monotonic() - triedAt < EVERY_MS) return false;
      triedAt = clock.monotonic();
      try {
        const within = (ms: number): AbortSignal => AbortSignal.any([outer, AbortSignal.timeout(ms)]);
        const ask = within(ASK_MS);
        const plan = effectiveDrainPlan(config.drainPlan);
        const { maintenance: name, reason, deadline } = phase;
        if (cluster.state(name) === 'absent') {
          await cluster.create({ name, reason, stage: 'Drain', drainPlan: plan, deadline }, ask);
        }
        if (cluster.state(name) !== 'open') return false;
        const path = objectPath(NODE_MAINTENANCES, { name: phase.maintenance }, 'status');
        const body = { status: { nodeStatuses: [{ nodeRef: { name: nodeName }, drainTargets: offlineTargets }] } };
        await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [], ask);
        const signal = within(CALL_MS);
        await syncCordon(client, { node: nodeName, wantedBy: [phase.maintenance] }, signal);
        answersSince ??= clock.monotonic();
        if (clock.monotonic() - answersSince < STEADY_MS) return false;
        if (offlinePods !== undefined) {
          const view = await offlinePods.observe(signal);
          if (!view.seen) return false;
          await deleteEnded(client, new Set(view.pods.map(({ uid }) => uid)), offlineTargets, signal);
          if (!(await offlinePods.giveBack(signal))) return false;
        }
        log.info({ maintenance: phase.maintenance }, 'the API server is back, handed the drain over');
        return true;
      } catch (error) {
        outer.throwIfAborted();
        answersSince = undefined;
        log.debug({ reason: describeError(error) }, 'cannot hand the drain over to the cluster yet');
        return false;
      }
    },
  };
}
