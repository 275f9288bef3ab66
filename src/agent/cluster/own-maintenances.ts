import type { ClusterDependencies } from './dependencies.ts';
import type { NodeMaintenances } from './maintenance-watch.ts';
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
import type { Deadline } from '../../decide/deadline/tiers.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import type { OwnState } from '../../decide/maintenance/agent-names.ts';
import { effectiveDrainPlan } from '../../decide/maintenance/drain-plan.ts';
import { agentNodeOf, isUsable, stageOf } from '../../decide/maintenance/maintenance.ts';
import { awaitsVolumes, hasDrained } from '../../decide/maintenance/recorded-node.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import type { Phase, Shutdown } from '../../decide/shutdown/phase.ts';
import { preciseRfc3339 } from '../../decide/time.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';

/** What of a shutdown its maintenance has. */
type Wanted = Pick<Shutdown, 'maintenance' | 'reason' | 'deadline' | 'shutdownKind'>;

/** A deadline as annotations have it; `at` and `since` by the API server's clock. */
function deadlineAnnotationsOf({ at, since }: Deadline): Record<string, string> {
  return { [DEADLINE_ANNOTATION]: preciseRfc3339(at), [DEADLINE_SINCE_ANNOTATION]: preciseRfc3339(since) };
}

/** The object with its label, which says whose agent made it; `deadline` is by the API server's clock. */
function maintenanceBody(
  { maintenance: name, reason, deadline, shutdownKind }: Wanted,
  drainPlan: readonly DrainPlanEntry[],
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
      stage: 'Drain',
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
      },
      // Ordered and complete, as the API wants it: an API server that has just started then accepts it too.
      drainPlan: effectiveDrainPlan(drainPlan),
      reason,
    },
  };
}

/** The API server tells its time in whole seconds: deadlines that differ by less are the same. */
const SAME_MS = 2_000;

/** What takes the annotations of a deadline away. */
const NO_DEADLINE = { [DEADLINE_ANNOTATION]: null, [DEADLINE_SINCE_ANNOTATION]: null };

/**
 * What became of the maintenance of one name that this process made, or found as its own. It is known by its UID: another
 * object of the same name was made by another client.
 */
interface Accepted {
  readonly uid: string;
  /** Whether the watch has shown it, or the API server does not have it any more. */
  isSeen: boolean;
  isCompleted: boolean;
}

/** The note of the boot is given up after this time: an API server that goes away now must not delay the drain. */
const NOTE_MS = 2_000;
/** A watch shows what was made within a second, unless it is interrupted; the API server is asked this often at most. */
const CONFIRM_MS = 10_000;

/** The maintenances that the agent of this node makes: what became of them, and all writes to them. */
export class OwnMaintenances {
  readonly #dependencies: ClusterDependencies;
  readonly #maintenances: Pick<NodeMaintenances, 'get' | 'list'>;
  readonly #endsWithBoot: string | undefined;
  /** By name. */
  readonly #accepted = new Map<string, Accepted>();
  /** Names that other clients have. */
  readonly #refused = new Set<string>();
  #confirmedAt: number | undefined;
  /** The name of the drain that an earlier process of this boot has made. */
  #resumed: string | undefined;

  /** Nothing is asked before the first call. `endsWithBoot` is the kernel's boot id, where the node's drains end with the boot. */
  constructor(
    dependencies: ClusterDependencies,
    maintenances: Pick<NodeMaintenances, 'get' | 'list'>,
    endsWithBoot: string | undefined,
  ) {
    this.#dependencies = dependencies;
    this.#maintenances = maintenances;
    this.#endsWithBoot = endsWithBoot;
  }

  /** Takes what a copy shows under this name, with the label of this node, for the own drain that an earlier process recorded. */
  resume(name: string): void {
    this.#resumed = name;
  }

  /** Notes that the copy of this name has changed. */
  changed(name: string): void {
    const found = this.#maintenances.get(name);
    if (found === undefined) this.#refused.delete(name);
    else if (name === this.#resumed && agentNodeOf(found) === this.#dependencies.nodeName) {
      this.#resumed = undefined;
      this.#accept(found);
    }
    const accepted = this.#accepted.get(name);
    if (found === undefined || accepted === undefined || accepted.uid !== (found.metadata.uid ?? '')) return;
    accepted.isSeen = true;
    // A maintenance that is deleted is completed by the controller, which is not the completion that a person asks for.
    const isDeleted = found.metadata.deletionTimestamp !== undefined;
    if (found.spec.stage === 'Complete' && !isDeleted) accepted.isCompleted = true;
  }

  /** The drains that this node's agent made. */
  own(): readonly NodeMaintenance[] {
    return this.#made().filter((each) => stageOf(each) !== 'Cordon');
  }

  /** What became of the drain that this agent made under the name, or is to make. */
  state(name: string): OwnState {
    const found = this.#maintenances.get(name);
    const accepted = this.#accepted.get(name);
    if (accepted === undefined) {
      const isForeign = found !== undefined && !isUsable(found, 'Drain', this.#dependencies.nodeName);
      return this.#refused.has(name) || isForeign ? 'taken' : 'absent';
    }
    if (accepted.isCompleted) return 'completed';
    // The copy may still show what had the name before.
    if (found?.metadata.uid !== accepted.uid) return accepted.isSeen ? 'deleted' : 'open';
    return found.metadata.deletionTimestamp === undefined ? 'open' : 'deleted';
  }

  /** Whether the drain that this agent made under the name has drained the node. */
  isDrained(name: string): boolean {
    const found = this.#ownOf(name);
    return found !== undefined && hasDrained(found, this.#dependencies.nodeName);
  }

  /** Whether the drain of the name waits for volumes of this node. */
  awaitsVolumes(name: string): boolean {
    const found = this.#ownOf(name);
    return found !== undefined && awaitsVolumes(found, this.#dependencies.nodeName);
  }

  /** Whether no maintenance of any client has the name, as far as is known. */
  isFree(name: string): boolean {
    const isUnseen = this.#accepted.get(name)?.isSeen === false;
    return this.#maintenances.get(name) === undefined && !this.#refused.has(name) && !isUnseen;
  }

  /** Forgets what was known of the name, which a new shutdown uses. */
  forget(name: string): void {
    this.#accepted.delete(name);
    this.#refused.delete(name);
  }

  /** Makes the maintenance of the shutdown, with the configured plan, or finds it made; the state of its name then says which. */
  async create(wanted: Wanted, drainPlan: readonly DrainPlanEntry[], signal: AbortSignal): Promise<void> {
    const { log, nodeName } = this.#dependencies;
    const { maintenance: name, reason } = wanted;
    // Where it is there already, a webhook that refuses another one is not asked.
    const created =
      this.#maintenances.get(name) === undefined ? await this.#post(wanted, drainPlan, signal) : undefined;
    const got = created ?? (await this.#read(name, signal));
    if (got === undefined) return;
    if (!isUsable(got, 'Drain', nodeName)) {
      this.#refused.add(name);
      log.warn({ maintenance: name }, 'another client has a maintenance of this name, taking another name');
      return;
    }
    this.#accept(got);
    log.info({ maintenance: name, reason }, created === undefined ? 'found own maintenance' : 'created maintenance');
    if (this.#endsWithBoot !== undefined) await this.#noteBoot(name, this.#endsWithBoot, signal);
  }

  /** Reads a drain that was made and that the watch has not shown, from the API server; at most every ten seconds. */
  async confirm(name: string, signal: AbortSignal): Promise<void> {
    const now = this.#dependencies.clock.monotonic();
    const accepted = this.#accepted.get(name);
    if (accepted?.isSeen !== false || (this.#confirmedAt !== undefined && now - this.#confirmedAt < CONFIRM_MS)) return;
    this.#confirmedAt = now;
    const found = await this.#read(name, signal);
    if (found?.metadata.uid !== accepted.uid) accepted.isSeen = true;
  }

  /**
   * Writes an earlier deadline, and a kind that became known later, to the NodeMaintenance of the shutdown, which was made with
   * the first ones. Takes a deadline that was withdrawn away from there. Sends nothing that it has.
   */
  async keepAnnotations(phase: Phase, signal: AbortSignal): Promise<void> {
    if (phase.kind !== 'draining' || this.state(phase.maintenance) !== 'open') return;
    const known = this.#maintenances.get(phase.maintenance);
    if (known === undefined) return;
    const { deadline, withdrawnDeadline, shutdownKind } = phase;
    const isLate = deadline !== undefined && !this.#hasDeadline(known, deadline.at);
    const isWithdrawn =
      deadline === undefined && withdrawnDeadline !== undefined && this.#hasDeadline(known, withdrawnDeadline);
    const isNamed =
      shutdownKind !== undefined && known.metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION] !== shutdownKind;
    const { name } = known.metadata;
    if (isLate || isWithdrawn) {
      const annotations = isLate ? deadlineAnnotationsOf(this.#inCluster(deadline)) : NO_DEADLINE;
      await this.#patch(name, { metadata: { annotations } }, signal);
    }
    // By itself: policies that are older than this agent refuse it.
    if (isNamed) {
      await this.#patch(name, { metadata: { annotations: { [SHUTDOWN_KIND_ANNOTATION]: shutdownKind } } }, signal);
    }
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

  /** Notes that the API server has this maintenance of this agent. */
  #accept({ metadata: { name, uid = '' } }: NodeMaintenance): void {
    if (this.#accepted.get(name)?.uid === uid) return;
    this.forget(name);
    const isSeen = this.#maintenances.get(name)?.metadata.uid === uid;
    this.#accepted.set(name, { uid, isSeen, isCompleted: false });
  }

  /** The copy of the maintenance that this agent made under the name. */
  #ownOf(name: string): NodeMaintenance | undefined {
    const found = this.#maintenances.get(name);
    return found?.metadata.uid === this.#accepted.get(name)?.uid ? found : undefined;
  }

  #made(): readonly NodeMaintenance[] {
    return this.#maintenances.list().filter((each) => agentNodeOf(each) === this.#dependencies.nodeName);
  }

  /** Creates it; returns undefined where the name exists already. */
  async #post(
    { deadline, shutdownKind, ...wanted }: Wanted,
    drainPlan: readonly DrainPlanEntry[],
    signal: AbortSignal,
  ): Promise<NodeMaintenance | undefined> {
    const { client, nodeName } = this.#dependencies;
    const timely = deadline === undefined ? wanted : { ...wanted, deadline: this.#inCluster(deadline) };
    const post = (more: Pick<Wanted, 'shutdownKind'>): Promise<NodeMaintenance | undefined> => {
      const body = maintenanceBody({ ...timely, ...more }, drainPlan, nodeName);
      return sendForObject(client, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }, [409], signal);
    };
    if (shutdownKind === undefined) return await post({});
    try {
      return await post({ shutdownKind });
    } catch (error) {
      if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
      // Policies that are older than this agent do not know the annotation: the drain does not depend on it.
      return await post({});
    }
  }

  /** Reads it from the API server; undefined where there is none. */
  #read(name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const path = objectPath(NODE_MAINTENANCES, { name });
    return sendForObject<NodeMaintenance>(this.#dependencies.client, { method: 'GET', path }, [404], signal);
  }

  /**
   * Notes in the maintenance during which boot it was made, where the API server has the same boot of this node. Not needed for
   * the drain: without the note the agent alone ends the drain after the boot.
   */
  async #noteBoot(name: string, bootId: string, outer: AbortSignal): Promise<void> {
    const { client, log, nodeName } = this.#dependencies;
    const signal = AbortSignal.any([outer, AbortSignal.timeout(NOTE_MS)]);
    try {
      const ask = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
      const node = await sendForObject<Node>(client, ask, [404], signal);
      // Where the API server has an earlier boot of the node, the next change of its boot does not mean that this one is over.
      if (node?.status?.nodeInfo?.bootID !== bootId) return;
      await this.#patch(name, { metadata: { annotations: { [BOOT_ANNOTATION]: bootId } } }, signal);
    } catch (error) {
      outer.throwIfAborted();
      log.debug({ maintenance: name, reason: describeError(error) }, 'cannot note the boot of the maintenance');
    }
  }

  /** The deadline by the API server's clock: the time that is left until then is that of this machine. */
  #inCluster({ at, since }: Deadline): Deadline {
    const aheadMs = this.#dependencies.aheadMs?.() ?? 0;
    return { at: at + aheadMs, since: since + aheadMs };
  }

  /** Whether the maintenance has the deadline `at`, which is by this machine's clock. */
  #hasDeadline(written: NodeMaintenance, at: number): boolean {
    const known = deadlineOf(written);
    return known !== undefined && Math.abs(known.at - this.#inCluster({ at, since: at }).at) < SAME_MS;
  }

  async #patch(name: string, body: object, signal: AbortSignal): Promise<void> {
    const path = objectPath(NODE_MAINTENANCES, { name });
    const request = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    await sendForObject(this.#dependencies.client, request, [404], signal);
  }
}
