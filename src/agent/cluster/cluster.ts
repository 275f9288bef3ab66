import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  AGENT_LABEL,
  BOOT_ANNOTATION,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  KUBELET_INTERCEPTOR,
  NODE_LABEL,
  NODE_MAINTENANCE_API_VERSION,
} from '../../api/names.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import type { Deadline } from '../../decide/deadline/budget.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { agentNodeOf, drainsOfNode, type NodeDrain, stageOf } from '../../decide/maintenance/maintenance.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { hasDrained, isUsable, type OwnState } from '../../decide/maintenance/shutdown-maintenance.ts';
import { preciseRfc3339 } from '../../decide/time.ts';
import { describeError } from '../../errors.ts';
import { reportProgress, type InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { removeFailedPods } from '../../kube/eviction/failed-pods.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  sendForObject,
} from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createMadeMaintenances } from './made-maintenances.ts';
import { createSignificantChanges, createMaintenanceTransform } from './maintenance-copies.ts';

/** The cluster as one node's agent sees it: NodeMaintenances always, EvictionRequests of its own pods while needed. */
export interface Cluster {
  /** Whether the NodeMaintenances are known. */
  synced(): boolean;
  /** Milliseconds since the epoch at which the API server was last heard of; 0 for never. */
  heardAt(): number;
  maintenance(name: string): NodeMaintenance | undefined;
  maintenances(): readonly NodeMaintenance[];
  /** What became of the drain that this agent made under the name, or is to make. */
  state(name: string): OwnState;
  /** Forgets what was known of the name, which a new shutdown uses. */
  forget(name: string): void;
  /** Whether no maintenance of anybody has the name, as far as is known. */
  isFree(name: string): boolean;
  /** Drains that this node's agent made. */
  own(): readonly NodeMaintenance[];
  /** The maintenances that this node's agent made to cordon the node. */
  ownCordons(): readonly NodeMaintenance[];
  /** All drains of this node. */
  drains(): readonly NodeDrain[];
  /** EvictionRequests of pods on this node that are not over. */
  requests(): readonly EvictionRequest[];
  /** Whether those are known. */
  requestsSynced(): boolean;
  /** Whether the drain that this agent made under the name has drained the node. */
  isDrained(name: string): boolean;
  /** Makes the maintenance, or finds it made; the state of its name tells what came of it. */
  create(wish: ShutdownMaintenance, signal: AbortSignal): Promise<void>;
  /** Asks for a drain that was made, where the watch has not shown it for long. */
  confirm(name: string, signal: AbortSignal): Promise<void>;
  /** Writes down when the node is gone. */
  setDeadline(maintenance: NodeMaintenance, deadline: Deadline, signal: AbortSignal): Promise<void>;
  complete(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
  remove(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
  /** Reports as the interceptor kubelet.k8s.io. */
  report(request: EvictionRequest, turn: InterceptorStep, signal: AbortSignal): Promise<void>;
  /** Deletes the pods of this node that a shutdown left behind as Failed. */
  removeFailedPods(signal: AbortSignal): Promise<readonly string[]>;
  /** Starts or stops the watch on EvictionRequests. */
  watchRequests(wanted: boolean): void;
  run(signal: AbortSignal): Promise<void>;
}

/** A maintenance that this agent makes for its node. */
export interface ShutdownMaintenance {
  readonly name: string;
  readonly reason: string;
  readonly stage: 'Cordon' | 'Drain';
  readonly drainPlan: readonly DrainPlanEntry[];
  /** When the node is gone. */
  readonly deadline?: Deadline | undefined;
}

/** An API server that goes away now must not keep the drain. */
const NOTE_MS = 2_000;
/** A watch shows what was made within a second, unless it is interrupted. */
const CONFIRM_MS = 10_000;
/** How often the agent looks whether the first list has arrived. */
const SYNC_MS = 250;

function annotationsOf({ at, since }: Deadline): Record<string, string> {
  return { [DEADLINE_ANNOTATION]: preciseRfc3339(at), [DEADLINE_SINCE_ANNOTATION]: preciseRfc3339(since) };
}

/**
 * Makes the view; nothing is asked of the API server before `run`. `endsWithBoot` is the kernel's boot id, where the
 * node's drains end with the boot.
 */
export function createCluster(dependencies: ClusterDependencies, endsWithBoot: string | undefined): Cluster {
  const { client, clock, log, nodeName, onChange } = dependencies;
  const maintenances = createObjectCache<NodeMaintenance>(
    { resource: NODE_MAINTENANCES },
    (name) => {
      made.changed(name);
      if (news.changed(name)) onChange();
    },
    dependencies,
    createMaintenanceTransform(nodeName),
  );
  const news = createSignificantChanges(nodeName, (name) => maintenances.get(name));
  const made = createMadeMaintenances(nodeName, (name) => maintenances.get(name));
  const madeByAgent = (): readonly NodeMaintenance[] =>
    maintenances.list().filter((each) => agentNodeOf(each) === nodeName);
  let requests: ObjectCache<EvictionRequest> | undefined;
  let stopRequests: AbortController | undefined;
  let lifetime: AbortSignal = AbortSignal.abort();
  let confirmedAt = -Infinity;

  const annotate = async (
    name: string,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> => {
    const path = objectPath(NODE_MAINTENANCES, { name });
    const body = { metadata: { annotations } };
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
  };
  /** That there is none is news as well. */
  const tellWhenSynced = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !maintenances.synced()) await clock.sleep(SYNC_MS, signal).catch(() => undefined);
    if (!signal.aborted) onChange();
  };
  const readMaintenance = (name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined> => {
    const path = objectPath(NODE_MAINTENANCES, { name });
    return sendForObject<NodeMaintenance>(client, { method: 'GET', path }, [404], signal);
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
    state: (name) => made.state(name),
    forget: (name) => {
      made.forget(name);
    },
    isFree: (name) => made.isFree(name),
    own: () => madeByAgent().filter((each) => stageOf(each) !== 'Cordon'),
    ownCordons: () => madeByAgent().filter((each) => stageOf(each) === 'Cordon'),
    drains: () => drainsOfNode(maintenances.list(), nodeName),
    requests: () => (requests?.list() ?? []).filter((request) => !isFinished(request)),
    requestsSynced: () => requests?.synced() === true,
    isDrained: (name) => {
      const found = maintenances.get(name);
      return found !== undefined && found.metadata.uid === made.uidOf(name) && hasDrained(found, nodeName);
    },
    create: async ({ name, reason, stage, drainPlan, deadline }, signal) => {
      const body: NodeMaintenance = {
        apiVersion: NODE_MAINTENANCE_API_VERSION,
        kind: 'NodeMaintenance',
        metadata: {
          name,
          labels: { [AGENT_LABEL]: nodeLabel(nodeName) },
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
      const post = { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body } as const;
      const created = await sendForObject<NodeMaintenance>(client, post, [409], signal);
      const got = created ?? (await readMaintenance(name, signal));
      if (got === undefined) return;
      if (!isUsable(got, stage, nodeName)) {
        made.refuse(name);
        log.warn({ maintenance: name }, 'somebody else has a maintenance of this name, taking another name');
        return;
      }
      made.accept(got);
      log.info({ maintenance: name, reason }, created === undefined ? 'found own maintenance' : 'created maintenance');
      if (stage !== 'Drain' || endsWithBoot === undefined) return;
      try {
        // After it and not for long, for this holds nothing up; without it, the agent alone ends the drain after the boot.
        await noteBoot(name, endsWithBoot, AbortSignal.any([signal, AbortSignal.timeout(NOTE_MS)]));
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ maintenance: name, reason: describeError(error) }, 'cannot note the boot of the maintenance');
      }
    },
    confirm: async (name, signal) => {
      if (!made.isUnseen(name) || clock.monotonic() - confirmedAt < CONFIRM_MS) return;
      confirmedAt = clock.monotonic();
      const found = await readMaintenance(name, signal);
      if (found?.metadata.uid !== made.uidOf(name)) made.lost(name);
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
      await reportProgress(client, request, KUBELET_INTERCEPTOR, turn, clock.now(), signal);
    },
    removeFailedPods: (signal) => removeFailedPods(client, nodeName, signal),
    watchRequests: (wanted) => {
      if (wanted === (stopRequests !== undefined) || lifetime.aborted) return;
      stopRequests?.abort();
      stopRequests = undefined;
      requests = undefined;
      if (!wanted) return;
      stopRequests = new AbortController();
      const scope = { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL}=${nodeLabel(nodeName)}` };
      requests = createObjectCache<EvictionRequest>(scope, onChange, dependencies);
      requests.run(AbortSignal.any([lifetime, stopRequests.signal])).catch((error: unknown) => {
        log.error({ reason: describeError(error) }, 'watch on eviction requests failed');
      });
    },
    run: async (signal) => {
      lifetime = signal;
      await Promise.all([maintenances.run(signal), tellWhenSynced(signal)]);
    },
  };
}
