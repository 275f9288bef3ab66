import { isDeepStrictEqual } from 'node:util';
import type { EvictionRequest } from '../api/eviction-request.ts';
import { COMPLETION_FINALIZER, EVICTION_REQUEST_API_VERSION, MAINTENANCE_REQUESTER, NODE_LABEL } from '../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/node-maintenance.ts';
import type { Node } from '../api/pod.ts';
import { describeEntry, effectiveDrainPlan } from '../decide/drain-plan.ts';
import { decideDrainTargets, type DrainNode } from '../decide/drain-targets.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { decideCordon, isInProgress, selectsNode, stageOf } from '../decide/maintenance.ts';
import { drainStatus, startedStages } from '../decide/maintenance-status.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../decide/pod.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, NODES, objectPath, sendForObject } from '../kube/resource.ts';
import type { Reconcile } from '../kube/queue.ts';
import { finishCompletion } from './completion.ts';
import type { ControllerContext } from './context.ts';

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
    // Canceled earlier, or evicted while the pod's deletion is on its way to us: only the first is asked again.
    const canceled = known.status?.conditions?.some(({ type, status }) => type === 'Canceled' && status === 'True');
    const path = objectPath(EVICTION_REQUESTS, known.metadata);
    if (canceled === true) await sendForObject(context.client, { method: 'DELETE', path }, [404], signal);
    return;
  }
  const requested = known?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true;
  if (requested && known.metadata.labels?.[NODE_LABEL] === node) return;
  const body: EvictionRequest = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels: { [NODE_LABEL]: node } },
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

  const patchStatus = async (
    maintenance: NodeMaintenance,
    status: NodeMaintenanceStatus,
    signal: AbortSignal,
  ): Promise<void> => {
    const merged = { ...maintenance.status, ...status };
    if (isDeepStrictEqual(merged, maintenance.status)) return;
    const path = objectPath(NODE_MAINTENANCES, maintenance.metadata, 'status');
    await sendForObject(client, { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } }, [404], signal);
  };

  const reconcileCordon = async (node: Node, signal: AbortSignal): Promise<void> => {
    const wantedBy = context.maintenances
      .list()
      .filter((other) => isInProgress(other) && selectsNode(other, node))
      .map((other) => other.metadata.name);
    const body = decideCordon(node, wantedBy);
    if (body === undefined) return;
    const path = objectPath(NODES, node.metadata);
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
    log.info({ node: node.metadata.name, wantedBy }, wantedBy.length > 0 ? 'cordoned node' : 'uncordoned node');
  };

  const drain = async (maintenance: NodeMaintenance, nodes: readonly Node[], signal: AbortSignal): Promise<void> => {
    const names = new Set(nodes.map((node) => node.metadata.name));
    const byNode = new Map<string, DrainPod[]>([...names].map((name) => [name, []]));
    for (const pod of context.pods.list()) {
      if (!isTerminal(pod)) byNode.get(pod.spec.nodeName ?? '')?.push(drainPodOf(pod));
    }
    const drainNodes: DrainNode[] = [...byNode].map(([name, pods]) => ({ name, pods }));
    const current =
      maintenance.status?.nodeStatuses?.find(({ nodeRef }) => names.has(nodeRef.name))?.drainTargets ?? [];
    const plan = effectiveDrainPlan(maintenance.spec.drainPlan ?? []);
    const decision = decideDrainTargets(plan, drainNodes, current);
    if (!isDeepStrictEqual(decision.drainTargets, current)) {
      const targets = decision.drainTargets.map(describeEntry);
      log.info({ maintenance: maintenance.metadata.name, targets }, 'drain targets moved on');
    }
    await patchStatus(maintenance, drainStatus(maintenance, decision, clock.now()), signal);
    for (const [node, pods] of Object.entries(decision.evicting)) {
      for (const pod of pods) await requestEviction(context, pod, node, signal);
    }
  };

  return async (key, signal) => {
    const maintenance = context.maintenances.get(key);
    if (maintenance === undefined) return {};
    const stage = stageOf(maintenance);
    if (stage === 'Idle') return {};
    const { finalizers = [], deletionTimestamp } = maintenance.metadata;
    const own = objectPath(NODE_MAINTENANCES, maintenance.metadata);
    if (deletionTimestamp !== undefined && maintenance.spec.stage !== 'Complete') {
      const body = { spec: { stage: 'Complete' } };
      await sendForObject(client, { method: 'PATCH', path: own, body, patch: { kind: 'merge' } }, [404], signal);
    }
    const nodes = context.nodes.list().filter((node) => selectsNode(maintenance, node));
    if (stage === 'Complete') {
      for (const node of nodes) await reconcileCordon(node, signal);
      const finished = await finishCompletion(context, maintenance, nodes, signal);
      await patchStatus(maintenance, startedStages(maintenance, 'Complete', clock.now()), signal);
      if (!finished || !finalizers.includes(COMPLETION_FINALIZER)) return {};
      const body = { metadata: { finalizers: finalizers.filter((name) => name !== COMPLETION_FINALIZER) } };
      await sendForObject(client, { method: 'PATCH', path: own, body, patch: { kind: 'merge' } }, [404], signal);
      log.info({ maintenance: key }, 'maintenance completed');
      return {};
    }
    if (!finalizers.includes(COMPLETION_FINALIZER)) {
      const body = { metadata: { finalizers: [...finalizers, COMPLETION_FINALIZER] } };
      await sendForObject(client, { method: 'PATCH', path: own, body, patch: { kind: 'merge' } }, [404], signal);
    }
    for (const node of nodes) await reconcileCordon(node, signal);
    if (stage === 'Cordon') await patchStatus(maintenance, startedStages(maintenance, 'Cordon', clock.now()), signal);
    if (stage === 'Drain') await drain(maintenance, nodes, signal);
    return {};
  };
}
