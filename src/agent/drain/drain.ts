import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { chooseDrainer, type DrainerKind, isOffline } from '../../decide/shutdown/drainer.ts';
import { isAlone } from '../../decide/shutdown/running-pods.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { type Drainer, type DrainerFacts, type DrainPass, type PassFacts, withLast, withDeadline } from './drainer.ts';
import type { LastLook } from './last-look.ts';
import { type DrainSight, NOTHING_KNOWN, type ProgressObserver } from './observer.ts';
import type { ToldPods } from './told-pods.ts';

/** Who drains the node, and who observes them. */
interface DrainHands {
  readonly drainers: Readonly<Record<DrainerKind, Drainer>>;
  /** Undefined where no cluster is configured. */
  readonly observer: Pick<ProgressObserver, 'observe' | 'note' | 'suspend' | 'stall' | 'isBusy' | 'state'> | undefined;
  readonly lastLook: Pick<LastLook, 'after'>;
  /** Undefined where no cluster is configured. */
  readonly told: Pick<ToldPods, 'after'> | undefined;
}

/** The drain of this node, whoever drains it. */
export class DrainStep {
  readonly observer: DrainHands['observer'];
  readonly #hands: DrainHands;
  readonly #drainPlan: readonly DrainPlanEntry[];
  readonly #clock: Clock;

  /** `drainPlan` is as configured. */
  constructor(hands: DrainHands, drainPlan: readonly DrainPlanEntry[], clock: Clock) {
    this.observer = hands.observer;
    this.#hands = hands;
    this.#drainPlan = drainPlan;
    this.#clock = clock;
  }

  /** One pass of the drainer that is chosen now; static pods that a deadline leaves no more time leave in any case. */
  async pass(facts: PassFacts, signal: AbortSignal): Promise<DrainPass> {
    const { drainers, lastLook, told } = this.#hands;
    const { phase } = facts.record;
    const { controller: life, maintenances } = await this.#observe(facts, signal);
    const chosen = chooseDrainer(phase, life);
    for (const [kind, drainer] of Object.entries(drainers)) if (kind !== chosen) drainer.stop();
    // What carries the way to the API server stays in a drain with it.
    const inPlace = facts.view.inPlace.filter((pod) => chosen === 'offline' || facts.carriers?.includes(pod) !== true);
    const given = { ...facts, view: { ...facts.view, inPlace } };
    const own = await this.#passOf(drainers[chosen], { ...given, maintenances }, signal);
    // Without an API server they are pods like any other, and what could not be ended is left.
    const pass = chosen === 'offline' ? own : withLast(own, facts);
    // The offline drainer goes by what the runtime says in any case, where it may end pods.
    const seen = chosen === 'offline' && !isAlone(phase) ? pass : await lastLook.after(pass, phase, signal);
    const ended = (await told?.after(seen, facts, chosen, signal)) ?? seen;
    return withDeadline(ended, facts, this.#drainPlan, this.#clock.now());
  }

  async #observe({ record: { phase }, retention }: PassFacts, signal: AbortSignal): Promise<DrainSight> {
    if (!isOffline(phase)) return (await this.observer?.observe(retention, phase, signal)) ?? NOTHING_KNOWN;
    this.observer?.suspend();
    return NOTHING_KNOWN;
  }

  /** One pass of the drainer; what keeps it from going on is noted. */
  async #passOf(drainer: Drainer, facts: DrainerFacts, signal: AbortSignal): Promise<DrainPass> {
    const { phase } = facts.record;
    const observer = isOffline(phase) ? undefined : this.observer;
    try {
      const pass = await drainer.pass(facts, signal);
      observer?.note(phase, pass.stalled, pass.isBegun);
      return pass;
    } catch (error) {
      signal.throwIfAborted();
      observer?.note(phase, describeError(error));
      throw error;
    }
  }
}
