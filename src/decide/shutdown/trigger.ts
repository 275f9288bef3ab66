/** Shutdowns that a person or a program announces over the control socket, and who may announce what. */
import { type ControlClient, describePhase, type Phase } from './phase.ts';

/** A shutdown that was announced over the control socket, until it is taken back. */
export interface Trigger {
  readonly reason: string;
  readonly by: ControlClient;
  /** When the machine is gone, in milliseconds since the epoch; absent where no time was given. */
  readonly deadline?: number;
}

/** What is known of the machine when somebody announces a shutdown. */
export interface TriggerFacts {
  readonly phase: Phase;
  /** The trigger that applies now; undefined where there is none. */
  readonly inForce: Trigger | undefined;
  /** Whether the machine goes down without a trigger too, or may do so because logind or systemd cannot be asked. */
  readonly goesDown: boolean;
}

/** The shortest deadline of the control group: what any cloud gives at least before it takes a machine away. */
const LEAST_GROUP_DEADLINE_MS = 30_000;

/**
 * Why a client may not announce the shutdown, as a sentence; undefined where it may. The control group may drain the node, in
 * a time of its choice that is not too short; it may not shorten what somebody else has begun.
 */
export function triggerRefusal(
  { by, deadlineMs }: Pick<Trigger, 'by'> & { readonly deadlineMs?: number | undefined },
  { phase, inForce, goesDown }: TriggerFacts,
): string | undefined {
  if (by === 'root') return undefined;
  if (inForce?.by === 'root') return 'root has announced a shutdown, and only root may announce it anew';
  if (deadlineMs === undefined) return undefined;
  if (deadlineMs < LEAST_GROUP_DEADLINE_MS) {
    const least = LEAST_GROUP_DEADLINE_MS / 1000;
    return `the control group may ask for a deadline of ${least} s or more, only root for an earlier one`;
  }
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  const isOwn = isHeld && phase.origin === 'trigger' && inForce !== undefined;
  if (!goesDown && (!isHeld || isOwn)) return undefined;
  return 'the machine goes down because of somebody else, and only root may give that shutdown a deadline';
}

/** What becomes of an announcement: the answer to the client, and whether what was let go counts as called off at once. */
interface Answer {
  readonly says: string;
  readonly takesBack: boolean;
}

const SEE = 'see: nodemaint status';

/** Whether something else than a trigger takes the machine down. */
function goesDownAnyway({ phase, goesDown }: TriggerFacts): boolean {
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  return goesDown || (isHeld && (phase.origin === 'notice' || phase.origin === 'schedule'));
}

/** What an announced shutdown does; `inForce` is the trigger before it. */
export function triggerAnswer(facts: TriggerFacts): Answer {
  const { phase, inForce } = facts;
  const drains = `The agent is draining this node; ${SEE}`;
  switch (phase.kind) {
    case 'watching':
    case 'recovering':
      return { says: drains, takesBack: false };
    case 'draining':
      return { says: `A shutdown is held already, and this node is being drained; ${SEE}`, takesBack: false };
    case 'released':
      if (inForce === undefined && !goesDownAnyway(facts)) return { says: drains, takesBack: true };
      return { says: `Nothing is drained again: ${describePhase(phase)}; ${SEE}`, takesBack: false };
  }
}

/** What becomes of a shutdown whose announcement is taken back; a sentence in `refusal` where there is none to take back. */
export function cancelAnswer(facts: TriggerFacts): Answer | { readonly refusal: string } {
  const { phase, inForce } = facts;
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  if (inForce === undefined && isHeld && phase.origin !== 'trigger') {
    const refusal = `"nodemaint cancel" takes back only what "nodemaint trigger" announced; this shutdown has another cause: ${phase.reason}`;
    return { refusal };
  }
  if (!isHeld) {
    const says = inForce === undefined ? 'No shutdown is announced; nothing is canceled.' : 'The shutdown is canceled.';
    return { says, takesBack: false };
  }
  if (goesDownAnyway(facts)) {
    return {
      says: `The announcement is taken back, but the machine goes down all the same, or logind cannot be asked; ${SEE}`,
      takesBack: false,
    };
  }
  const says = `The shutdown is canceled; the agent puts back what it took away; ${SEE}`;
  return { says, takesBack: phase.kind === 'released' };
}
