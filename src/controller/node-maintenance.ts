import { isDeepStrictEqual } from 'node:util';
import { CANCELED, type EvictionRequest, NO_REQUESTERS } from '../api/eviction-request.ts';
import { COMPLETION_FINALIZER, EVICTION_REQUEST_API_VERSION, MAINTENANCE_REQUESTER, NODE_LABEL } from '../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/node-maintenance.ts';
import type { Node } from '../api/pod.ts';
import { describeEntry, effectiveDrainPlan } from '../decide/drain-plan.ts';
import { decideDrainTargets, type DrainNode } from '../decide/drain-targets.ts';
import { admitEvictions } from '../decide/eviction-limits.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { isInBackground } from '../decide/imperative-eviction.ts';
import { decideCordon, isInProgress, selectsNode, stageOf } from '../decide/maintenance.ts';
import { drainStatus, startedStages } from '../decide/maintenance-status.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../decide/pod.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, NODES, objectPath, sendForObject } from '../kube/resource.ts';
import type { Reconcile } from '../kube/queue.ts';
import { finishCompletion } from './completion.ts';
import type { ControllerContext } from './context.ts';

/** Whether the pod's eviction is requested by us, or under way in the background (KEP-1397). */
function isInProgressOn(context: ControllerContext, { namespace, name, uid }: DrainPod): boolean {
  const request = context.requests.get(`${namespace}/${uid}`);
  const requested = request?.spec.requesters?.some((requester) => requester.name === MAINTENANCE_REQUESTER) === true;
  const pod = context.pods.get(`${namespace}/${name}`);
  return requested || (pod !== undefined && isInBackground(pod));
}

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
  if (known?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true) return;
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
    const candidates = Object.entries(decision.evicting).flatMap(([node, targets]) =>
      targets.map((pod) => ({ node, namespace: pod.namespace, pod, inProgress: isInProgressOn(context, pod) })),
    );
    const { admitted, held } = admitEvictions(candidates, context.options);
    for (const { node, pod } of admitted) await requestEviction(context, pod, node, signal);
    if (held.length > 0) log.debug({ maintenance: maintenance.metadata.name, held: held.length }, 'held by the limits');
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
