/** Shutdowns that a person or a program announces over the control socket, and who may announce what. */
import type { Phase } from './phase.ts';

/** A shutdown that was announced over the control socket, until it is taken back. */
export interface Trigger {
  readonly reason: string;
  /** Root, or a member of the control group. */
  readonly by: 'root' | 'group';
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
