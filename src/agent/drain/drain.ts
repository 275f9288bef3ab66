import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { drainsAlone, isOffline } from '../../decide/shutdown/drainer.ts';
import { isAlone } from '../../decide/shutdown/completed-maintenance.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { type Drainer, type DrainPass, EMPTY_PASS, type PassFacts, withLast, withDeadline } from './drainer.ts';
import type { RunningPods } from './running-pods.ts';
import type { ProgressObserver } from './take-over.ts';
import type { TerminatingPods } from './terminating-pods.ts';

/** Who drains the node with the API server, and who observes them. */
interface ClusterHands {
  readonly byController: Drainer;
  /** Its work ends with `stop`, which is called in each pass in which others drain the node. */
  readonly self: Drainer & { stop(): void };
  readonly observer: Pick<ProgressObserver, 'observe' | 'note' | 'suspend' | 'stall' | 'isBusy' | 'state'>;
  readonly told: Pick<TerminatingPods, 'after' | 'stop'>;
}

/** Who drains the node. */
interface DrainHands {
  readonly offline: Drainer;
  readonly runningPods: Pick<RunningPods, 'after' | 'afterCompletion'>;
  /** Undefined where no cluster is configured. */
  readonly cluster: ClusterHands | undefined;
}

/** The drain of this node, whoever drains it. */
export class DrainStep {
  readonly observer: ClusterHands['observer'] | undefined;
  readonly #hands: DrainHands;
  readonly #drainPlan: readonly DrainPlanEntry[];
  readonly #clock: Clock;

  /** `drainPlan` is as configured. */
  constructor(hands: DrainHands, drainPlan: readonly DrainPlanEntry[], clock: Clock) {
    this.observer = hands.cluster?.observer;
    this.#hands = hands;
    this.#drainPlan = drainPlan;
    this.#clock = clock;
  }

  /** One pass of who drains the node now; static pods that a deadline leaves no more time leave in any case. */
  async pass(facts: PassFacts, signal: AbortSignal): Promise<DrainPass> {
    const { cluster } = this.#hands;
    const pass = isOffline(facts.record.phase)
      ? await this.#passOffline(facts, signal)
      : cluster === undefined
        ? EMPTY_PASS
        : await this.#passInCluster(cluster, facts, signal);
    return withDeadline(pass, facts, this.#drainPlan, this.#clock.now());
  }

  async #passOffline(facts: PassFacts, signal: AbortSignal): Promise<DrainPass> {
    const { cluster, offline, runningPods } = this.#hands;
    const { phase } = facts.record;
    for (const each of [cluster?.self, cluster?.told]) each?.stop();
    cluster?.observer.suspend();
    const pass = await offline.pass({ ...facts, maintenances: [] }, signal);
    // It goes by what the runtime says in any case, where it may end pods.
    return isAlone(phase) ? await runningPods.afterCompletion(pass, phase, signal) : pass;
  }

  async #passInCluster(
    { byController, self, observer, told }: ClusterHands,
    facts: PassFacts,
    signal: AbortSignal,
  ): Promise<DrainPass> {
    const { record, retention, view, carriers = [] } = facts;
    const { phase } = record;
    const { controller, maintenances } = await observer.observe(retention, phase, signal);
    const isSelf = drainsAlone(controller);
    if (!isSelf) self.stop();
    // What carries the way to the API server stays in a drain with it.
    const inPlace = view.inPlace.filter((pod) => !carriers.includes(pod));
    const given = { ...facts, view: { ...view, inPlace }, maintenances };
    let own: DrainPass;
    try {
      own = await (isSelf ? self : byController).pass(given, signal);
      observer.note(phase, own.stalled, own.isBegun);
    } catch (error) {
      signal.throwIfAborted();
      observer.note(phase, describeError(error));
      throw error;
    }
    const seen = await this.#hands.runningPods.after(withLast(own, facts), phase, signal);
    return await told.after(seen, facts, isSelf, signal);
  }
}
