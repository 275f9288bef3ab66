import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { isAlone } from '../../decide/shutdown/running-pods.ts';
import { chooseDrainer, type DrainerKind, isOffline } from '../../decide/shutdown/drainer.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { leaveByTargets } from '../static-pods/view.ts';
import { staticDeadlineOf } from './deadline.ts';
import type { Drainer, DrainerFacts, DrainPass, PassFacts } from './drainer.ts';
import type { LastLook } from './last-look.ts';
import { type ProgressObserver, type DrainSight, NOTHING_KNOWN } from './observer.ts';

/** The drain of this node, whoever drains it. */
export interface DrainStep {
  /** One pass of the drainer that is chosen now; static pods that a deadline leaves no more time leave in any case. */
  pass(facts: PassFacts, signal: AbortSignal): Promise<DrainPass>;
}

interface DrainStepDependencies {
  readonly drainers: Readonly<Record<DrainerKind, Drainer>>;
  /** Absent where no cluster is configured. */
  readonly observer: Pick<ProgressObserver, 'observe' | 'note' | 'suspend'> | undefined;
  readonly lastLook: LastLook;
  /** As configured. */
  readonly drainPlan: readonly DrainPlanEntry[];
  readonly clock: Clock;
}

/** Adds the static pods that leave by the deadline of the shutdown, with the grace periods that it leaves them. */
function withDeadline(
  pass: DrainPass,
  { record: { phase }, view }: PassFacts,
  drainPlan: readonly DrainPlanEntry[],
  now: number,
): DrainPass {
  const deadline = staticDeadlineOf(phase, view, drainPlan, now);
  if (deadline === undefined || phase.kind !== 'draining') return pass;
  const due = leaveByTargets(view, deadline.due, phase);
  return {
    ...pass,
    leave: new Map([...due, ...pass.leave]),
    targeted: new Set([...pass.targeted, ...due.keys()]),
    graces: deadline.graces,
  };
}

export function createDrainStep({ drainers, observer, lastLook, drainPlan, clock }: DrainStepDependencies): DrainStep {
  const observe = async ({ record, retention }: PassFacts, signal: AbortSignal): Promise<DrainSight> => {
    const { phase } = record;
    if (!isOffline(phase)) return (await observer?.observe(retention, phase, signal)) ?? NOTHING_KNOWN;
    observer?.suspend();
    return NOTHING_KNOWN;
  };
  /** One pass of the drainer; what keeps it from going on is noted. */
  const passOf = async (drainer: Drainer, facts: DrainerFacts, signal: AbortSignal): Promise<DrainPass> => {
    const { phase } = facts.record;
    try {
      const pass = await drainer.pass(facts, signal);
      if (!isOffline(phase)) observer?.note(phase, pass.stalled);
      return pass;
    } catch (error) {
      signal.throwIfAborted();
      if (!isOffline(phase)) observer?.note(phase, describeError(error));
      throw error;
    }
  };
  return {
    pass: async (facts, signal) => {
      const { controller: life, maintenances } = await observe(facts, signal);
      const chosen = chooseDrainer(facts.record.phase, life);
      for (const [kind, drainer] of Object.entries(drainers)) if (kind !== chosen) drainer.stop();
      const pass = await passOf(drainers[chosen], { ...facts, maintenances }, signal);
      // The offline drainer goes by what the runtime says in any case, where it may end pods.
      const isSeen = chosen === 'offline' && !isAlone(facts.record.phase);
      const seen = isSeen ? pass : await lastLook.after(pass, facts.record.phase, signal);
      return withDeadline(seen, facts, drainPlan, clock.now());
    },
  };
}
