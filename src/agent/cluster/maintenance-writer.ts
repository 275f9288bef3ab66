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

/** The API server tells its time in whole seconds: deadlines that differ by less are the same. */
const SAME_MS = 2_000;

function isSame(written: NodeMaintenance, { at }: Pick<Deadline, 'at'>): boolean {
  const known = deadlineOf(written);
  return known !== undefined && Math.abs(known.at - at) < SAME_MS;
}

/** What is to be written; null takes an annotation away. */
type Annotations = Readonly<Record<string, string | null>>;
const NO_DEADLINE: Annotations = { [DEADLINE_ANNOTATION]: null, [DEADLINE_SINCE_ANNOTATION]: null };

/**
 * The requests about this node's maintenances. A maintenance that is gone is no error; each throws API_UNREACHABLE and
 * API_REFUSED.
 */
export class MaintenanceWriter {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName' | 'aheadMs'>;

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName' | 'aheadMs'>) {
    this.#dependencies = dependencies;
  }

  /** Creates it; returns undefined where the name exists already. */
  async post(wanted: ShutdownMaintenance, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const { client, nodeName } = this.#dependencies;
    const timely = { ...wanted, deadline: wanted.deadline && this.#inCluster(wanted.deadline) };
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
  }

  /** Reads it from the API server; undefined where there is none. */
  read(name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const path = objectPath(NODE_MAINTENANCES, { name });
    return sendForObject<NodeMaintenance>(this.#dependencies.client, { method: 'GET', path }, [404], signal);
  }

  /** Writes down when the node is gone; sends nothing where the maintenance has it. */
  async setDeadline(maintenance: NodeMaintenance, own: Deadline, signal: AbortSignal): Promise<void> {
    const deadline = this.#inCluster(own);
    if (isSame(maintenance, deadline)) return;
    await this.#annotate(maintenance.metadata.name, deadlineAnnotationsOf(deadline), signal);
  }

  /** Writes down how the machine goes down; sends nothing where the maintenance has it. */
  async setShutdownKind({ metadata }: NodeMaintenance, kind: ShutdownKind, signal: AbortSignal): Promise<void> {
    if (metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION] === kind) return;
    await this.#annotate(metadata.name, { [SHUTDOWN_KIND_ANNOTATION]: kind }, signal);
  }

  /** Takes the deadline `at`, which was withdrawn, away from the maintenance; sends nothing where it has none or another one. */
  async clearDeadline(maintenance: NodeMaintenance, at: number, signal: AbortSignal): Promise<void> {
    if (!isSame(maintenance, this.#inCluster({ at, since: at }))) return;
    await this.#annotate(maintenance.metadata.name, NO_DEADLINE, signal);
  }

  /** Notes in the maintenance during which boot it was made, where the API server has the same boot of this node. */
  async noteBoot(name: string, bootId: string, signal: AbortSignal): Promise<void> {
    const { client, nodeName } = this.#dependencies;
    const ask = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
    const node = await sendForObject<Node>(client, ask, [404], signal);
    // Where the API server has an earlier boot of the node, the next change of its boot does not mean that this one is over.
    if (node?.status?.nodeInfo?.bootID === bootId) await this.#annotate(name, { [BOOT_ANNOTATION]: bootId }, signal);
  }

  /** Asks for the stage Complete; sends nothing where it has it. */
  async complete(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void> {
    if (stageOf(maintenance) === 'Complete') return;
    await this.#patch(maintenance.metadata.name, { spec: { stage: 'Complete' } }, signal);
    this.#dependencies.log.info({ maintenance: maintenance.metadata.name }, 'completed own maintenance');
  }

  async remove(maintenance: NodeMaintenance, signal: AbortSignal): Promise<void> {
    const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
    await sendForObject(this.#dependencies.client, { method: 'DELETE', path }, [404], signal);
  }

  /** The deadline by the API server's clock: the time that is left until then is that of this machine. */
  #inCluster({ at, since }: Deadline): Deadline {
    const aheadMs = this.#dependencies.aheadMs?.() ?? 0;
    return { at: at + aheadMs, since: since + aheadMs };
  }

  async #annotate(name: string, annotations: Annotations, signal: AbortSignal): Promise<void> {
    await this.#patch(name, { metadata: { annotations } }, signal);
  }

  async #patch(name: string, body: object, signal: AbortSignal): Promise<void> {
    const path = objectPath(NODE_MAINTENANCES, { name });
    const request = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    await sendForObject(this.#dependencies.client, request, [404], signal);
  }
}
