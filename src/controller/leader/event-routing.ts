import { DAEMON_SET_INTERCEPTOR } from '../../api/names.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import { podTypeOf } from '../../decide/pod.ts';
import type { EvictionEngine } from '../../kube/eviction/imperative.ts';
import type { WorkQueue } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import { createAffectedNodes } from '../cache/affected-nodes.ts';
import type { ControllerContext } from '../context.ts';
import type { DaemonSetGate } from '../daemon-set/gate.ts';
import { isMarkObsolete } from '../eviction/evict-mark-removal.ts';
import type { DrainRequests } from '../lifecycle/drain-requests.ts';
import type { GroupEvictions } from '../pod-group/evictions.ts';

/** The queues of a leader, and what decides which of their keys a change concerns. */
export interface Queues {
  readonly imperative: EvictionEngine;
  readonly groups: Pick<GroupEvictions, 'ofPod' | 'budgetChanged' | 'promised'>;
  readonly gate: DaemonSetGate;
  readonly maintenance: WorkQueue;
  readonly node: WorkQueue;
  readonly requester: WorkQueue;
  readonly grouped: WorkQueue;
  readonly request: WorkQueue;
  readonly daemonSet: WorkQueue;
  readonly gated: WorkQueue;
  readonly rollout: WorkQueue;
  readonly eviction: WorkQueue;
  readonly marks: WorkQueue;
}

/** What a leader is told: the keys of objects that were added, changed or deleted. */
export interface Changes {
  onMaintenance(key: string): void;
  onRequest(key: string): void;
  /** A request of a drain in the newer dialect, or its Eviction. */
  onDrainRequest(key: string): void;
  /** An object of the newer dialect, whoever made it, for the pod of the key. */
  onTarget(pod: string): void;
  onPod(key: string): void;
  onNode(key: string): void;
  onBudget(key: string): void;
  onAttachment(key: string): void;
}

/** The status of the maintenance is written sooner, where its drain goes on. */
const EMPTY_NODE_WAITS_MS = 1_000;

/** A maintenance of more nodes is not looked at for each of them at once. */
const FEW_NODES = 8;

/** Adds what a change concerns to the queues. */
interface Adding {
  request(key: string): void;
  /** The node, and the requests of its pods. */
  node(name: string): void;
  /** The maintenances of the node, at once or, where nobody waits for it, soon. Those that are complete are left alone. */
  maintenancesOn(node: string, when?: 'now' | 'soon'): void;
  /** The nodes for which the maintenance is another one now, with all that is on them. */
  reach(maintenance: string): void;
  readonly mark: (pod: string) => void;
  /** The target of a request of the older dialect. */
  target(pod: string): void;
  /** A request of a drain in the newer dialect. */
  readonly drainRequest: (key: string) => void;
}

/** Whether the interceptor of DaemonSets may have to do with the request of the key; most requests are none of its own. */
function mayEndByDaemonSet({ requests, pods }: Pick<ControllerContext, 'requests' | 'pods'>, key: string): boolean {
  const request = requests.get(key);
  if (request === undefined || request.metadata.deletionTimestamp !== undefined) return true;
  if (request.status?.targetInterceptors?.some(({ name }) => name === DAEMON_SET_INTERCEPTOR) === true) return true;
  const pod = pods.get(targetKeyOf(request));
  return pod !== undefined && podTypeOf(pod) === 'DaemonSet';
}

function createAdding(context: ControllerContext, queues: Queues, newer: DrainRequests): Adding {
  const { maintenances, requests, pods } = context;
  const reach = createAffectedNodes();
  const addNode = (name: string): void => {
    queues.node.add(name);
    for (const key of requests.onNode(name)) {
      for (const queue of [queues.requester, queues.eviction]) queue.add(key);
      if (mayEndByDaemonSet(context, key)) queues.daemonSet.add(key);
    }
    for (const key of newer.onNode(name)) queues.requester.add(key);
  };
  const addMaintenancesOn: Adding['maintenancesOn'] = (node, when = 'soon') => {
    for (const name of maintenances.unsettledOn(node)) {
      if (when === 'now' && maintenances.sizeOf(name) <= FEW_NODES) queues.maintenance.add(name);
      else queues.maintenance.addSoon(name);
    }
  };
  const addMark = (key: string): void => {
    const pod = pods.get(key);
    if (pod !== undefined && isMarkObsolete(context, newer, pod) !== false) queues.marks.add(key);
  };
  return {
    request: (key) => {
      for (const queue of [queues.requester, queues.request, queues.eviction]) queue.add(key);
      if (mayEndByDaemonSet(context, key)) queues.daemonSet.add(key);
    },
    node: addNode,
    maintenancesOn: addMaintenancesOn,
    reach: (name) => {
      const selected = maintenances.nodesOf(name).map(({ metadata }) => metadata.name);
      for (const node of reach.note(name, maintenances.get(name), selected)) {
        addNode(node);
        addMaintenancesOn(node);
        for (const pod of pods.meantFor(node)) queues.gated.add(keyOf(pod));
      }
    },
    drainRequest: (key) => {
      for (const node of newer.nodesOf(key)) addMaintenancesOn(node);
      queues.requester.add(key);
    },
    mark: addMark,
    target: (key) => {
      addMark(key);
      const { nodeName } = pods.get(key)?.spec ?? {};
      if (nodeName !== undefined) addMaintenancesOn(nodeName);
    },
  };
}

/** Notes changes in the indexes, and adds the keys that they concern to the queues. */
export function createChanges(context: ControllerContext, queues: Queues, newer: DrainRequests): Changes {
  const { maintenances, requests, pods, ungated, attachments } = context;
  const add = createAdding(context, queues, newer);
  return {
    onRequest: (key) => {
      const change = requests.note(key);
      for (const pod of change.pods) add.target(pod);
      for (const node of change.nodes) add.maintenancesOn(node);
      add.request(key);
    },
    onDrainRequest: add.drainRequest,
    onTarget: add.mark,
    onPod: (key) => {
      const change = pods.note(key);
      // What an empty node says changes together with what the maintenance does, which is decided first.
      for (const node of change.turned) queues.node.addAfter(node, EMPTY_NODE_WAITS_MS);
      for (const node of change.nodes) {
        maintenances.groups.touchNode(node);
        add.maintenancesOn(node, change.turned.includes(node) ? 'now' : 'soon');
      }
      if (change.isOtherControlPlane) for (const node of maintenances.noteControlPlane()) add.maintenancesOn(node);
      for (const request of requests.ofPod(key)) add.request(request);
      add.mark(key);
      for (const group of queues.groups.ofPod(key)) queues.grouped.add(group);
      if (queues.gate.podChanged(key)) queues.gated.add(key);
      const rollout = queues.gate.rolloutOf(key);
      if (rollout !== undefined) queues.rollout.add(rollout);
    },
    onMaintenance: (key) => {
      for (const node of maintenances.note(key)) add.maintenancesOn(node);
      // Our own writes come back too: what they say is known.
      queues.maintenance.addSoon(key);
      add.reach(key);
      ungated.forget((node) => drainsOfNode(maintenances.on(node), node).length > 0);
    },
    onNode: (name) => {
      const change = maintenances.noteNode(name);
      for (const maintenance of change.maintenances) {
        queues.maintenance.add(maintenance);
        add.reach(maintenance);
      }
      if (change.isOtherForRequests) add.node(name);
      else queues.node.add(name);
      add.maintenancesOn(name, change.isOtherwiseCordoned ? 'now' : 'soon');
      for (const node of change.nodes) add.maintenancesOn(node);
    },
    onAttachment: (key) => {
      const node = attachments.note(key);
      if (node === undefined || maintenances.unsettledOn(node).length === 0) return;
      maintenances.groups.touchNode(node);
      add.maintenancesOn(node, pods.isEmpty(node) ? 'now' : 'soon');
      if (pods.isEmpty(node)) queues.node.addAfter(node, EMPTY_NODE_WAITS_MS);
    },
    onBudget: (key) => {
      for (const request of queues.imperative.budgetChanged(key)) queues.eviction.add(request);
      for (const pod of queues.groups.budgetChanged(key)) queues.grouped.add(pod);
    },
  };
}
