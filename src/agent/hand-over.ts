import type { Node, Pod } from '../api/pod.ts';
import { effectiveDrainPlan, targetsCover } from '../decide/drain-plan.ts';
import { decideCordon } from '../decide/maintenance.ts';
import { drainPodOf, isTerminal, podTypeOf } from '../decide/pod.ts';
import { describeError } from '../errors.ts';
import { deletePod } from '../kube/evictor.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath, PODS, sendForObject } from '../kube/resource.ts';
import type { AgentContext } from './context.ts';
import type { AgentRecord } from './record.ts';

/** No call may keep the loop for longer. */
const CALL_MS = 10_000;

/**
 * Hands a local drain over to the cluster when its API server is back: the NodeMaintenance with the targets that were
 * reached, so that nobody begins anew and no DaemonSet pod comes back; then the cordon, and the pods that have ended here are deleted
 * there, for the kubelet would start them again; then the kubelet. Each step may be repeated. Returns whether all is done.
 */
export async function handOver(context: AgentContext, record: AgentRecord, signal: AbortSignal): Promise<boolean> {
  const { cluster, client, localDrain, log, nodeName } = context;
  const { phase, localTargets } = record;
  if (cluster === undefined || client === undefined || phase.kind !== 'draining' || phase.mode !== 'local')
    return false;
  // A watch that has told nothing since the drain went on locally may be as dead as the API server.
  if (cluster.heardAt() <= (phase.localSince ?? phase.since)) return false;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
  try {
    if (!cluster.exists(phase.maintenance)) {
      const plan = effectiveDrainPlan(context.config.drainPlan);
      await cluster.create(phase.maintenance, phase.reason, plan, limited);
    }
    const path = objectPath(NODE_MAINTENANCES, { name: phase.maintenance }, 'status');
    const status = { nodeStatuses: [{ nodeRef: { name: nodeName }, drainTargets: localTargets }] };
    await sendForObject(client, { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } }, [], limited);
    const place = objectPath(NODES, { name: nodeName });
    const node = await sendForObject<Node>(client, { method: 'GET', path: place }, [404], limited);
    const body = node === undefined ? undefined : decideCordon(node, [phase.maintenance]);
    const cordon = { method: 'PATCH', path: place, body, patch: { kind: 'merge' } } as const;
    if (body !== undefined) await sendForObject(client, cordon, [], limited);
    if (localDrain !== undefined) {
      const view = await localDrain.observe(limited);
      if (!view.seen) return false;
      const alive = new Set(view.pods.map(({ uid }) => uid));
      const query = `fieldSelector=${encodeURIComponent(`spec.nodeName=${nodeName}`)}`;
      const list = { method: 'GET', path: `${collectionPath(PODS)}?${query}` } as const;
      const answer = await sendForObject<{ items: readonly Pod[] }>(client, list, [], limited);
      for (const pod of answer?.items ?? []) {
        const { uid = '', deletionTimestamp } = pod.metadata;
        const ended = podTypeOf(pod) !== 'Static' && !alive.has(uid) && targetsCover(localTargets, drainPodOf(pod));
        if (!ended || deletionTimestamp !== undefined || isTerminal(pod)) continue;
        await deletePod(client, pod, limited);
        log.info({ pod: `${pod.metadata.namespace}/${pod.metadata.name}` }, 'deleted pod that was drained locally');
      }
      return await localDrain.giveBack(limited);
    }
    return true;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ reason: describeError(error) }, 'cannot hand the drain over to the cluster yet');
    return false;
  }
}
