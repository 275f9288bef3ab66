import { isDeepStrictEqual } from 'node:util';
import { CANCELED, type EvictionRequest, NO_REQUESTERS } from '../../api/eviction-request.ts';
import {
  COMPLETION_FINALIZER,
  EVICTION_REQUEST_API_VERSION,
  MAINTENANCE_REQUESTER,
  NODE_LABEL,
  NODE_MAINTENANCE_API_VERSION,
} from '../../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { describeEntry } from '../../decide/drain/plan.ts';
import type { DrainResolution } from '../../decide/drain/resolution.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isSignificantChange, startedStages } from '../../decide/drain/status.ts';
import { nodeAnnotation, nodeLabel } from '../../decide/node-label.ts';
import type { DrainPod } from '../../decide/pod.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import { createRecentWrites } from '../../kube/read-your-writes.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, objectPath, sendForObject } from '../../kube/resource.ts';
import { finishCompletion } from './completion.ts';
import type { ControllerContext } from '../context.ts';
import { createPodNotifier, deadlineAnnotations, graceOptions } from '../deadline.ts';
import { createDrainObserver } from './observer.ts';
import { reconcileNode } from './node.ts';
import { selectedNodes } from './selected-nodes.ts';

/** Pods that block, and estimates, change with time alone. */
const LOOK_AGAIN_MS = 15_000;
const COUNT_EVERY_MS = 1_000;
/** One after another, the requests for a full node would take seconds of a short notice. */
const PARALLEL_REQUESTS = 16;

/** Makes or keeps the EvictionRequest of a pod, with this controller's requester entry (KEP-4212, "Drain"). */
async function requestEviction(
  context: ControllerContext,
  pod: DrainPod,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, uid } = pod;
  const known = context.requests.get(`${namespace}/${uid}`);
  if (known !== undefined && isFinished(known)) {
    // Withdrawn earlier, not valid, or evicted while the pod's deletion is on its way to us: only the first is asked again.
    const withdrawn = known.status?.conditions?.some(
      ({ type, reason }) => type === CANCELED && reason === NO_REQUESTERS,
    );
    const path = objectPath(EVICTION_REQUESTS, known.metadata);
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: known.metadata.uid } };
    if (withdrawn === true) await sendForObject(context.client, { method: 'DELETE', path, body }, [404, 409], signal);
    return;
  }
  const annotations = { ...deadlineAnnotations(context, pod, node, known), ...nodeAnnotation(node) };
  const isTold = Object.entries(annotations).every(([key, value]) => known?.metadata.annotations?.[key] === value);
  if (isTold && known?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true) return;
  const body: EvictionRequest = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels: { [NODE_LABEL]: nodeLabel(node) }, annotations },
    spec: { target: { pod: { name: pod.name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
  };
  const path = objectPath(EVICTION_REQUESTS, body.metadata);
  const patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER } as const;
  await sendForObject(context.client, { method: 'PATCH', path, body, patch }, [404], signal);
  context.log.info({ pod: `${namespace}/${pod.name}`, node, podType: pod.podType }, 'requested eviction');
}

/** The NodeMaintenance controller (KEP-4212, "NodeMaintenance Controller"): one step of one maintenance. */
export function createMaintenanceReconciler(context: ControllerContext): Reconcile {
  const { client, clock, log } = context;
  const observer = createDrainObserver(context);

  const notifier = createPodNotifier(context);
  const ownWrites = createRecentWrites<NodeMaintenance>();

  /** Pods that are terminating already get less time where the deadline asks for it. */
  const shortenEnds = async ({ nodes }: DrainResolution, signal: AbortSignal): Promise<void> => {
    for (const { namespace, name, uid, podType } of nodes.flatMap(({ evicting }) => evicting)) {
      // A static pod's grace period is not the API server's to change: its agent ends it in time.
      const pod = podType === 'Static' ? undefined : context.pods.get(`${namespace}/${name}`);
      if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp === undefined) continue;
      const isShorter = await shortenEnd(client, pod, graceOptions(context, pod), clock.now(), signal);
      if (isShorter) log.info({ pod: `${namespace}/${name}` }, 'shortened the end of a terminating pod for a deadline');
    }
  };

  /**
   * Returns whether nothing stands against it: a conflict means that we decided from an old state. `copy` is what the cache
   * had when this run began.
   */
  const patchStatus = async (
    maintenance: NodeMaintenance,
    copy: NodeMaintenance,
    status: NodeMaintenanceStatus,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const merged = { ...maintenance.status, ...status };
    if (isDeepStrictEqual(merged, maintenance.status)) return true;
    const { resourceVersion } = maintenance.metadata;
    const path = objectPath(NODE_MAINTENANCES, maintenance.metadata, 'status');
    const body = { metadata: { resourceVersion }, status };
    const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    const fresh = await sendForObject<NodeMaintenance>(client, change, [404, 409], signal);
    if (fresh !== undefined) ownWrites.note(maintenance.metadata.name, copy, fresh);
    return fresh !== undefined;
  };

  /** Returns the maintenance as it is then. */
  const patchOwn = async (
    maintenance: NodeMaintenance,
    body: object,
    signal: AbortSignal,
  ): Promise<NodeMaintenance> => {
    const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
    const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    return (await sendForObject<NodeMaintenance>(client, change, [404], signal)) ?? maintenance;
  };

  const tell = (maintenance: NodeMaintenance, { nodes }: DrainResolution): void => {
    for (const { name, fastForwardedBy } of nodes) {
      if (fastForwardedBy === undefined) continue;
      const message = `The drain of node ${name} is fast-forwarded: the older maintenance ${fastForwardedBy} has gone further there already.`;
      const subject = { ...maintenance, apiVersion: NODE_MAINTENANCE_API_VERSION, kind: 'NodeMaintenance' };
      context.events.tell(subject, { type: 'Warning', reason: 'FastForwarded', message });
    }
  };

  /** When the counts of a maintenance were written last, on the monotonic clock. */
  const countedAt = new Map<string, number>();

  /** Returns when to look again, in milliseconds. */
  const drain = async (maintenance: NodeMaintenance, copy: NodeMaintenance, signal: AbortSignal): Promise<number> => {
    const now = clock.now();
    const { status, resolution, wishes, dueAt = Infinity } = observer.look(maintenance, now);
    const againMs = Math.min(LOOK_AGAIN_MS, dueAt - now);
    const before = maintenance.status?.drainPlanPosition;
    const { name } = maintenance.metadata;
    const sinceMs = clock.monotonic() - (countedAt.get(name) ?? -Infinity);
    // Each pod that goes changes a count: where that is all, a write a second is enough.
    if (sinceMs < COUNT_EVERY_MS && !isSignificantChange(maintenance.status, status)) {
      return Math.min(COUNT_EVERY_MS - sinceMs, againMs);
    }
    countedAt.set(name, clock.monotonic());
    // The targets are written before anybody acts on them: agents and the gate go by the status.
    if (!(await patchStatus(maintenance, copy, status, signal)) || resolution === undefined) return againMs;
    if (before !== resolution.position) {
      const targets = resolution.nodes[0]?.drainTargets.map(describeEntry);
      log.info({ maintenance: name, targets }, 'drain targets moved on');
    }
    tell(maintenance, resolution);
    notifier.tell(maintenance, new Set(resolution.nodes.map((node) => node.name)));
    for (let at = 0; at < wishes.length; at += PARALLEL_REQUESTS) {
      const batch = wishes.slice(at, at + PARALLEL_REQUESTS);
      await Promise.all(batch.map(({ node, pod }) => requestEviction(context, pod, node, signal)));
    }
    await shortenEnds(resolution, signal);
    return againMs;
  };

  const reconcileNodes = async (nodes: readonly Node[], signal: AbortSignal): Promise<void> => {
    const busy = observer.busyNodes();
    for (const node of nodes) await reconcileNode(context, node, !busy.has(node.metadata.name), signal);
  };

  const complete = async (
    maintenance: NodeMaintenance,
    copy: NodeMaintenance,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<void> => {
    const finished = await finishCompletion(context, maintenance, nodes, signal);
    const written = await patchStatus(maintenance, copy, startedStages(maintenance, 'Complete', clock.now()), signal);
    const { finalizers = [], name } = maintenance.metadata;
    if (!finished || !written || !finalizers.includes(COMPLETION_FINALIZER)) return;
    const left = finalizers.filter((finalizer) => finalizer !== COMPLETION_FINALIZER);
    await patchOwn(maintenance, { metadata: { finalizers: left } }, signal);
    log.info({ maintenance: name }, 'maintenance completed');
  };

  return async (key, signal) => {
    const copy = context.maintenances.get(key);
    if (copy === undefined) {
      countedAt.delete(key);
      notifier.forget(key);
      ownWrites.forget(key);
      return {};
    }
    let maintenance = ownWrites.latest(key, copy) ?? copy;
    const isOutlived = context.maintenances.isOutlived(key);
    const stage = isOutlived ? 'Complete' : stageOf(maintenance);
    if (stage === 'Idle') return {};
    const { finalizers = [], deletionTimestamp } = maintenance.metadata;
    if (isOutlived) log.info({ maintenance: key }, 'the machine was booted since, completing its shutdown');
    if (isOutlived || (deletionTimestamp !== undefined && maintenance.spec.stage !== 'Complete')) {
      maintenance = await patchOwn(maintenance, { spec: { stage: 'Complete' } }, signal);
    }
    const nodes = selectedNodes(context, maintenance);
    if (stage !== 'Complete' && !finalizers.includes(COMPLETION_FINALIZER)) {
      const body = { metadata: { finalizers: [...finalizers, COMPLETION_FINALIZER] } };
      maintenance = await patchOwn(maintenance, body, signal);
    }
    await reconcileNodes(nodes, signal);
    if (stage === 'Complete') {
      await complete(maintenance, copy, nodes, signal);
      return {};
    }
    if (stage === 'Cordon') {
      await patchStatus(maintenance, copy, startedStages(maintenance, 'Cordon', clock.now()), signal);
      return {};
    }
    return { againMs: await drain(maintenance, copy, signal) };
  };
}
