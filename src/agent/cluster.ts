import type { EvictionRequest } from '../api/eviction-request.ts';
import {
  AGENT_LABEL,
  BOOT_ANNOTATION,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  KUBELET_INTERCEPTOR,
  NODE_LABEL,
  NODE_MAINTENANCE_API_VERSION,
} from '../api/names.ts';
import { DRAINED, type DrainPlanEntry, type NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node } from '../api/pod.ts';
import type { Deadline } from '../decide/deadline.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { drainsOfNode, type NodeDrain, stageOf } from '../decide/maintenance.ts';
import { preciseRfc3339 } from '../decide/time.ts';
import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { reportTurn, type Turn } from '../kube/interceptor.ts';
import { removeFailedPods } from '../kube/failed-pods.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  sendForObject,
} from '../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';

/** The cluster as one node's agent sees it: NodeMaintenances always, EvictionRequests of its own pods while needed. */
export interface Cluster {
  /** Whether the NodeMaintenances are known. */
  synced(): boolean;
  /** Milliseconds since the epoch at which the API server was last heard of; 0 for never. */
  heardAt(): number;
  maintenance(name: string): NodeMaintenance | undefined;
  maintenances(): readonly NodeMaintenance[];
  /** Whether the API server has the maintenance: it was seen there, or accepted just now. */
  exists(name: string): boolean;
  /** Drains that this node's agent made. */
  own(): readonly NodeMaintenance[];
  /** All drains of this node. */
  drains(): readonly NodeDrain[];
  /** EvictionRequests of pods on this node that are not over. */
  requests(): readonly EvictionRequest[];
  /** Whether those are known. */
  requestsSynced(): boolean;
  /** Whether the maintenance has drained the node. */
  isDrained(name: string): boolean;
  create(wish: OwnMaintenance, signal: AbortSignal): Promise<void>;
  /** Writes down when the node is gone. */
  setDeadline(maintenance: NodeMaintenance, deadline: Deadline, signal: AbortSignal): Promise<void>;
  complete(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
  remove(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
  /** Reports as the interceptor kubelet.k8s.io. */
  report(request: EvictionRequest, turn: Turn, signal: AbortSignal): Promise<void>;
  /** Deletes the pods of this node that a shutdown left behind as Failed. */
  removeFailedPods(signal: AbortSignal): Promise<readonly string[]>;
  /** Starts or stops the watch on EvictionRequests. */
  watchRequests(wanted: boolean): void;
  run(signal: AbortSignal): Promise<void>;
}

/** A maintenance that this agent makes for its node. */
export interface OwnMaintenance {
  readonly name: string;
  readonly reason: string;
  readonly stage: 'Cordon' | 'Drain';
  readonly drainPlan: readonly DrainPlanEntry[];
  /** When the node is gone. */
  readonly deadline?: Deadline | undefined;
}

export interface ClusterDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly onChange: () => void;
}

/** An API server that goes away now must not keep the drain. */
const NOTE_MS = 2_000;

function annotationsOf({ at, since }: Deadline): Record<string, string> {
  return { [DEADLINE_ANNOTATION]: preciseRfc3339(at), [DEADLINE_SINCE_ANNOTATION]: preciseRfc3339(since) };
}

/**
 * Makes the view; nothing is asked of the API server before `run`. `endsWithBoot` is the kernel's boot id, where the
 * node's drains end with the boot.
 */
export function createCluster(dependencies: ClusterDependencies, endsWithBoot: string | undefined): Cluster {
  const { client, clock, log, nodeName, onChange } = dependencies;
  const maintenances = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onChange, dependencies);
  let requests: ObjectCache<EvictionRequest> | undefined;
  let stopRequests: AbortController | undefined;
  let lifetime: AbortSignal = AbortSignal.abort();
  let accepted = '';

  const annotate = async (
    name: string,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> => {
    const path = objectPath(NODE_MAINTENANCES, { name });
    const body = { metadata: { annotations } };
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
  };
  /** Only where the API server has the same boot of this node: another one must mean that this one is over. */
  const noteBoot = async (name: string, bootId: string, signal: AbortSignal): Promise<void> => {
    const ask = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
    const node = await sendForObject<Node>(client, ask, [404], signal);
    if (node?.status?.nodeInfo?.bootID === bootId) await annotate(name, { [BOOT_ANNOTATION]: bootId }, signal);
  };

  return {
    synced: () => maintenances.synced(),
    heardAt: () => maintenances.heardAt(),
    maintenance: (name) => maintenances.get(name),
    maintenances: () => maintenances.list(),
    exists: (name) => name === accepted || maintenances.get(name) !== undefined,
    own: () =>
      maintenances
        .list()
        .filter((each) => each.metadata.labels?.[AGENT_LABEL] === nodeName && stageOf(each) !== 'Cordon'),
    drains: () => drainsOfNode(maintenances.list(), nodeName),
    requests: () => (requests?.list() ?? []).filter((request) => !isFinished(request)),
    requestsSynced: () => requests?.synced() === true,
    isDrained: (name) =>
      maintenances.get(name)?.status?.conditions?.some(({ type, status }) => type === DRAINED && status === 'True') ===
      true,
    create: async ({ name, reason, stage, drainPlan, deadline }, signal) => {
      const body: NodeMaintenance = {
        apiVersion: NODE_MAINTENANCE_API_VERSION,
        kind: 'NodeMaintenance',
        metadata: {
          name,
          labels: { [AGENT_LABEL]: nodeName },
          ...(deadline === undefined ? {} : { annotations: annotationsOf(deadline) }),
        },
        spec: {
          stage,
          nodeSelector: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
          },
          drainPlan,
          reason,
        },
      };
      await sendForObject(client, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }, [409], signal);
      accepted = name;
      log.info({ maintenance: name, reason }, 'created maintenance');
      if (stage !== 'Drain' || endsWithBoot === undefined) return;
      try {
        // After it and not for long, for this holds nothing up; without it, the agent alone ends the drain after the boot.
        await noteBoot(name, endsWithBoot, AbortSignal.any([signal, AbortSignal.timeout(NOTE_MS)]));
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ maintenance: name, reason: describeError(error) }, 'cannot note the boot of the maintenance');
      }
    },
    setDeadline: ({ metadata }, deadline, signal) => annotate(metadata.name, annotationsOf(deadline), signal),
    complete: async (maintenance, signal) => {
      if (stageOf(maintenance) === 'Complete') return;
      const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
      const body = { spec: { stage: 'Complete' } };
      await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
      log.info({ maintenance: maintenance.metadata.name }, 'completed own maintenance');
    },
    remove: async (maintenance, signal) => {
      const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
      await sendForObject(client, { method: 'DELETE', path }, [404], signal);
    },
    report: async (request, turn, signal) => {
      await reportTurn(client, request, KUBELET_INTERCEPTOR, turn, clock.now(), signal);
    },
    removeFailedPods: (signal) => removeFailedPods(client, nodeName, signal),
    watchRequests: (wanted) => {
      if (wanted === (stopRequests !== undefined) || lifetime.aborted) return;
      stopRequests?.abort();
      stopRequests = undefined;
      requests = undefined;
      if (!wanted) return;
      stopRequests = new AbortController();
      const scope = { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL}=${nodeName}` };
      requests = createObjectCache<EvictionRequest>(scope, onChange, dependencies);
      requests.run(AbortSignal.any([lifetime, stopRequests.signal])).catch((error: unknown) => {
        log.error({ reason: describeError(error) }, 'watch on eviction requests failed');
      });
    },
    run: async (signal) => {
      lifetime = signal;
      await maintenances.run(signal);
    },
  };
}
