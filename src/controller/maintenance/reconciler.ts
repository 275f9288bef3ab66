import { COMPLETION_FINALIZER } from '../../api/names.ts';
import type { NodeMaintenance, Stage } from '../../api/node-maintenance.ts';
import { describeEntry } from '../../decide/maintenance/drain-plan.ts';
import { identityOf } from '../../decide/maintenance/recorded-node.ts';
import { completedStatus, cordonStatus } from '../../decide/drain/status.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { timeOf } from '../../decide/time.ts';
import {
  createMaintenanceStatusWriter,
  type MaintenanceStatusWriter,
  type StatusOutcome,
} from '../../kube/maintenance/status.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { NODE_MAINTENANCES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { ControllerContext } from '../context.ts';
import { leftOverOf, removeFinished } from './completion.ts';
import { reportCompletion, reportDrain, reportFastForwards } from './report-events.ts';
import { DrainObserver } from './observer.ts';
import type { EvictionRoom } from '../eviction/limits.ts';
import type { Refusals } from './refusals.ts';

/** Pods that block, and estimates, change with time alone. */
const OBSERVE_AGAIN_MS = 15_000;
const COUNT_EVERY_MS = 1_000;
/** A deletion is over soon where nothing holds it up. */
const DELETION_MS = 5_000;

/**
 * For how long nothing is written of a maintenance that is deleted, in milliseconds: where everything is given back by then, the
 * removal of the finalizer is the only write. 0 where it is not deleted, or takes longer.
 */
function silentMs({ metadata }: NodeMaintenance, now: number): number {
  const leftMs = (timeOf(metadata.deletionTimestamp) ?? -Infinity) + DELETION_MS - now;
  // A clock that is behind must not keep the stage from being written.
  return leftMs > 2 * DELETION_MS ? 0 : Math.max(0, leftMs);
}

/** A body that replaces the finalizers, and only those that were read: others may add theirs at any time. */
function finalizersBody({ metadata }: NodeMaintenance, finalizers: readonly string[]): object {
  return { metadata: { resourceVersion: metadata.resourceVersion, finalizers } };
}

/** What became of a status says when to write it again, where only a text or a count waits for that. */
function againOf(outcome: StatusOutcome): { readonly againMs?: number } {
  return outcome.kind === 'postponed' ? { againMs: outcome.againMs } : {};
}

/** The NodeMaintenance controller (KEP-4212, "NodeMaintenance Controller"). */
export class MaintenanceReconciler {
  readonly #context: ControllerContext;
  readonly #refused: Pick<Refusals, 'of'>;
  readonly #status: MaintenanceStatusWriter;
  readonly #observer: DrainObserver;

  constructor(
    context: ControllerContext,
    { refused, room }: { readonly refused: Refusals; readonly room: EvictionRoom },
  ) {
    const { client, clock, maintenances } = context;
    this.#context = context;
    this.#refused = refused;
    this.#status = createMaintenanceStatusWriter(client, clock, COUNT_EVERY_MS, () => maintenances.drains.names.size);
    this.#observer = new DrainObserver(context, { refused, room }, (copy) => this.#status.peek(copy));
  }

  /** One step of one maintenance. */
  readonly reconcile: Reconcile = async (key, signal) => {
    const { maintenances } = this.#context;
    const copy = maintenances.get(key);
    if (copy === undefined) {
      this.#status.forget(key);
      return {};
    }
    const known = this.#status.latest(copy);
    const stage = maintenances.isEndedByReboot(key) ? 'Complete' : stageOf(known);
    if (stage === 'Idle') return {};
    const maintenance = await this.#prepare(known, stage, signal);
    if (maintenance === undefined) return { againMs: OBSERVE_AGAIN_MS };
    if (stage === 'Drain') return { againMs: await this.#drain(maintenance, signal) };
    if (stage === 'Cordon') return againOf(await this.#cordon(maintenance, signal));
    const hasFinalizer = maintenance.metadata.finalizers?.includes(COMPLETION_FINALIZER) === true;
    const again = againOf(await this.#complete(maintenance, signal));
    if (hasFinalizer) return { againMs: OBSERVE_AGAIN_MS, ...again };
    return { ...(await removeFinished(this.#context, maintenance, signal)), ...again };
  };

  /**
   * Brings the stage and the finalizer of the maintenance in order, and returns it as it is then; undefined where it changed
   * meanwhile, which brings it back into the queue.
   */
  async #prepare(known: NodeMaintenance, stage: Stage, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const { maintenances, clock, log } = this.#context;
    const { name, finalizers = [], deletionTimestamp } = known.metadata;
    const isEndedByReboot = maintenances.isEndedByReboot(name);
    if (isEndedByReboot) log.info({ maintenance: name }, 'the machine was booted since, completing its shutdown');
    const isDeleted = deletionTimestamp !== undefined && silentMs(known, clock.now()) === 0;
    const isUnwritten = isEndedByReboot || (isDeleted && known.spec.stage !== 'Complete');
    const maintenance = isUnwritten ? await this.#patch(known, { spec: { stage: 'Complete' } }, signal) : known;
    if (maintenance === undefined || stage === 'Complete' || finalizers.includes(COMPLETION_FINALIZER))
      return maintenance;
    return await this.#patch(maintenance, finalizersBody(maintenance, [...finalizers, COMPLETION_FINALIZER]), signal);
  }

  /** The Drain stage. Returns when to observe again, in milliseconds. */
  async #drain(maintenance: NodeMaintenance, signal: AbortSignal): Promise<number> {
    const now = this.#context.clock.now();
    const { status, resolution, againAt } = this.#observer.observe(maintenance, now);
    const againMs = Math.min(OBSERVE_AGAIN_MS, againAt - now);
    // What follows from the targets is done by whoever sees them in the status: the requests, agents and the gate.
    const outcome = await this.#status.write(maintenance, status, signal);
    if (outcome.kind === 'not-recorded') return againMs;
    if (outcome.kind === 'recorded') reportDrain(this.#context, maintenance, outcome.status);
    // Where only counts wait to be written, the targets are recorded already.
    const nextMs = outcome.kind === 'postponed' ? Math.min(outcome.againMs, againMs) : againMs;
    if (resolution === undefined) return nextMs;
    if (maintenance.status?.drainPlanPosition !== resolution.position) {
      const targets = resolution.nodes[0]?.drainTargets.map(describeEntry);
      this.#context.log.info({ maintenance: maintenance.metadata.name, targets }, 'drain targets moved on');
    }
    reportFastForwards(this.#context, maintenance, resolution);
    return nextMs;
  }

  /** The Cordon stage: the nodes have a loop of their own. */
  async #cordon(maintenance: NodeMaintenance, signal: AbortSignal): Promise<StatusOutcome> {
    const { maintenances, clock } = this.#context;
    const nodes = maintenances.nodesOf(maintenance.metadata.name).map(({ metadata }) => {
      return { ...identityOf(metadata), refusal: this.#refused.of(metadata.name)?.message };
    });
    return await this.#status.write(maintenance, cordonStatus(maintenance, nodes, clock.now()), signal);
  }

  /** The Complete stage: takes the finalizer away when nothing of the maintenance is left. */
  async #complete(maintenance: NodeMaintenance, signal: AbortSignal): Promise<StatusOutcome> {
    const context = this.#context;
    const now = context.clock.now();
    const againMs = silentMs(maintenance, now);
    const outcome: StatusOutcome =
      againMs > 0
        ? { kind: 'postponed', againMs }
        : await this.#status.write(maintenance, completedStatus(maintenance, now), signal);
    const { finalizers = [], name } = maintenance.metadata;
    if ((outcome.kind !== 'recorded' && againMs === 0) || !finalizers.includes(COMPLETION_FINALIZER)) return outcome;
    const leftOver = leftOverOf(context, this.#refused, maintenance);
    if (leftOver === undefined) return outcome;
    const left = finalizers.filter((finalizer) => finalizer !== COMPLETION_FINALIZER);
    const body = { spec: { stage: 'Complete' }, ...finalizersBody(maintenance, left) };
    if ((await this.#patch(maintenance, body, signal)) === undefined) return outcome;
    context.log.info({ maintenance: name }, 'maintenance completed');
    reportCompletion(context, maintenance, leftOver);
    return outcome;
  }

  /** Returns the maintenance as it is then; undefined where it is gone or another client has changed it since. */
  async #patch(maintenance: NodeMaintenance, body: object, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
    const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    return await sendForObject<NodeMaintenance>(this.#context.client, change, [404, 409], signal);
  }
}
