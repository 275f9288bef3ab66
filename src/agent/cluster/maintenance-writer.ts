import {
  AGENT_LABEL,
  BOOT_ANNOTATION,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  NODE_MAINTENANCE_API_VERSION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../api/names.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import type { Deadline } from '../../decide/deadline/budget.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import type { ShutdownKind } from '../../decide/shutdown/kind.ts';
import { preciseRfc3339 } from '../../decide/time.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ClusterDependencies } from './dependencies.ts';

/** A maintenance that this agent makes for its node. */
export interface ShutdownMaintenance {
  readonly name: string;
  readonly reason: string;
  readonly stage: 'Cordon' | 'Drain';
  readonly drainPlan: readonly DrainPlanEntry[];
  /** When the node is gone, by this machine's clock. */
  readonly deadline?: Deadline | undefined;
  /** How the machine goes down, where that is known. */
  readonly shutdownKind?: ShutdownKind | undefined;
}

/** A deadline as annotations have it; `at` and `since` by the API server's clock. */
export function deadlineAnnotationsOf({ at, since }: Deadline): Record<string, string> {
  return { [DEADLINE_ANNOTATION]: preciseRfc3339(at), [DEADLINE_SINCE_ANNOTATION]: preciseRfc3339(since) };
}

/** The object with its label, which says whose agent made it; `deadline` is by the API server's clock. */
export function maintenanceBody(
  { name, reason, stage, drainPlan, deadline, shutdownKind }: ShutdownMaintenance,
  nodeName: string,
): NodeMaintenance {
  const annotations = {
    ...(deadline === undefined ? {} : deadlineAnnotationsOf(deadline)),
    ...(shutdownKind === undefined ? {} : { [SHUTDOWN_KIND_ANNOTATION]: shutdownKind }),
  };
  return {
    apiVersion: NODE_MAINTENANCE_API_VERSION,
    kind: 'NodeMaintenance',
    metadata: {
      name,
      labels: { [AGENT_LABEL]: nodeLabel(nodeName) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
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
}

/**
 * The requests about this node's maintenances. A maintenance that is gone is no error; each throws API_UNREACHABLE and
 * API_REFUSED.
 */
export interface MaintenanceWriter {
  /** Creates it; returns undefined where the name exists already. */
  post(wanted: ShutdownMaintenance, signal: AbortSignal): Promise<NodeMaintenance | undefined>;
  /** Reads it from the API server; undefined where there is none. */
  read(name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined>;
  /** Writes down when the node is gone; sends nothing where the maintenance has it. */
  setDeadline(maintenance: NodeMaintenance, deadline: Deadline, signal: AbortSignal): Promise<void>;
  /** Writes down how the machine goes down; sends nothing where the maintenance has it. */
  setShutdownKind(maintenance: NodeMaintenance, kind: ShutdownKind, signal: AbortSignal): Promise<void>;
  /** Takes the deadline `at`, which was withdrawn, away from the maintenance; sends nothing where it has none or another one. */
  clearDeadline(maintenance: NodeMaintenance, at: number, signal: AbortSignal): Promise<void>;
  /** Notes in the maintenance during which boot it was made, where the API server has the same boot of this node. */
  noteBoot(name: string, bootId: string, signal: AbortSignal): Promise<void>;
  /** Asks for the stage Complete; sends nothing where it has it. */
  complete(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
  remove(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void>;
}

/** The API server tells its time in whole seconds: deadlines that differ by less are the same. */
const SAME_MS = 2_000;

function isSame(written: NodeMaintenance, { at }: Pick<Deadline, 'at'>): boolean {
  const known = deadlineOf(written);
  return known !== undefined && Math.abs(known.at - at) < SAME_MS;
}

async function patch(client: KubeClient, name: string, body: object, signal: AbortSignal): Promise<void> {
  const path = objectPath(NODE_MAINTENANCES, { name });
  await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
}

/** What is to be written; null takes an annotation away. */
type Annotations = Readonly<Record<string, string | null>>;
const NO_DEADLINE: Annotations = { [DEADLINE_ANNOTATION]: null, [DEADLINE_SINCE_ANNOTATION]: null };

/** Creates the writer for the maintenances of the node `nodeName`. */
export function createMaintenanceWriter({
  client,
  log,
  nodeName,
  aheadMs = () => 0,
}: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName' | 'aheadMs'>): MaintenanceWriter {
  /** The deadline by the API server's clock: the time that is left until then is that of this machine. */
  const inCluster = ({ at, since }: Deadline): Deadline => ({ at: at + aheadMs(), since: since + aheadMs() });
  const annotate = (name: string, annotations: Annotations, signal: AbortSignal): Promise<void> =>
    patch(client, name, { metadata: { annotations } }, signal);
  return {
    post: async (wanted, signal) => {
      const timely = { ...wanted, deadline: wanted.deadline && inCluster(wanted.deadline) };
      const post = (body: NodeMaintenance): Promise<NodeMaintenance | undefined> =>
        sendForObject(client, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }, [409], signal);
      try {
        return await post(maintenanceBody(timely, nodeName));
      } catch (error) {
        const isRefused = error instanceof NodemaintError && error.code === 'API_REFUSED';
        if (!isRefused || wanted.shutdownKind === undefined) throw error;
        // Policies that are older than this agent do not know the annotation: the drain does not depend on it.
        return await post(maintenanceBody({ ...timely, shutdownKind: undefined }, nodeName));
      }
    },
    read: (name, signal) => {
      const path = objectPath(NODE_MAINTENANCES, { name });
      return sendForObject<NodeMaintenance>(client, { method: 'GET', path }, [404], signal);
    },
    setDeadline: async (maintenance, own, signal) => {
      const deadline = inCluster(own);
      if (!isSame(maintenance, deadline))
        await annotate(maintenance.metadata.name, deadlineAnnotationsOf(deadline), signal);
    },
    setShutdownKind: async ({ metadata: { name, annotations } }, kind, signal) => {
      if (annotations?.[SHUTDOWN_KIND_ANNOTATION] === kind) return;
      await annotate(name, { [SHUTDOWN_KIND_ANNOTATION]: kind }, signal);
    },
    clearDeadline: async (maintenance, at, signal) => {
      if (!isSame(maintenance, { at: at + aheadMs() })) return;
      await annotate(maintenance.metadata.name, NO_DEADLINE, signal);
    },
    noteBoot: async (name, bootId, signal) => {
      const ask = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
      const node = await sendForObject<Node>(client, ask, [404], signal);
      // Where the API server has an earlier boot of the node, the next change of its boot does not mean that this one is over.
      if (node?.status?.nodeInfo?.bootID === bootId) await annotate(name, { [BOOT_ANNOTATION]: bootId }, signal);
    },
    complete: async (maintenance, signal) => {
      if (stageOf(maintenance) === 'Complete') return;
      await patch(client, maintenance.metadata.name, { spec: { stage: 'Complete' } }, signal);
      log.info({ maintenance: maintenance.metadata.name }, 'completed own maintenance');
    },
    remove: async (maintenance, signal) => {
      const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
      await sendForObject(client, { method: 'DELETE', path }, [404], signal);
    },
  };
}
