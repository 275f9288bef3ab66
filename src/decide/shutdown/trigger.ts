/** Shutdowns that root announces over the control socket, and calls off. */
import { describePhase, type Phase } from './phase.ts';

/** A shutdown that was announced over the control socket, until it is taken back. */
export interface Trigger {
  readonly reason: string;
  /** When the machine is gone, in milliseconds since the epoch; absent where no time was given. */
  readonly deadline?: number;
}

/** What is known of the machine when somebody announces a shutdown. */
export interface TriggerFacts {
  readonly phase: Phase;
  /** The trigger that applies now; undefined where there is none. */
  readonly inForce: Trigger | undefined;
  /** What the machine does without a trigger. */
  readonly machine: MachineCourse;
}

/** What logind and systemd are about to do. */
export type MachineCourse =
  | { readonly kind: 'up' }
  /** logind has a shutdown for later. */
  | { readonly kind: 'scheduled' }
  /** The logind of this process ID prepares one, and waits for the locks. */
  | { readonly kind: 'prepared'; readonly logind: number }
  /** systemd stops all units. */
  | { readonly kind: 'stopping' }
  /** One of them does not answer. */
  | { readonly kind: 'unknown' };

/** Whether the machine goes down without a trigger too, or may do so because logind or systemd cannot be asked. */
function goesDown({ kind }: MachineCourse): boolean {
  return kind !== 'up' && kind !== 'scheduled';
}

/** What becomes of an announcement: the answer to the client, and whether what was let go counts as called off at once. */
interface Answer {
  readonly says: string;
  readonly takesBack: boolean;
}

const SEE = 'see: nodemaint status';
const CANCELED = `The shutdown is canceled; the agent puts back what it took away; ${SEE}`;
const ALREADY = `The shutdown is canceled already; the agent puts back what it took away; ${SEE}`;

/** Whether something else than a trigger takes the machine down. */
function goesDownAnyway(facts: TriggerFacts): boolean {
  const { phase, machine } = facts;
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  return goesDown(machine) || (isHeld && phase.origin === 'notice') || isOwnSchedule(facts);
}

/** Whether the drain is, or was, for what logind has scheduled. */
function isOwnSchedule({ phase }: TriggerFacts): boolean {
  return (phase.kind === 'draining' || phase.kind === 'released') && phase.origin === 'schedule';
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

/** What becomes of a shutdown that a client calls off. */
interface Cancel {
  readonly says: string;
  /** Whether the shutdown that is held is over by it. */
  readonly ends: boolean;
  /** What is called off beside the announcement: what logind has scheduled, or what the logind of a process ID prepares. */
  readonly machine?: 'scheduled' | { readonly logind: number };
}

/** The answer to a client that calls a shutdown off; a sentence in `refusal` where it cannot. */
type CancelAnswer = Cancel | { readonly refusal: string };

/** Whether a notice takes the machine away, whoever calls a shutdown off. */
function isNoticed(phase: Phase): boolean {
  if (phase.kind !== 'draining') return false;
  return phase.origin === 'notice' || (phase.deadline !== undefined && phase.deadline.of !== 'trigger');
}

/** Calls off what logind prepares or has scheduled. */
function cancelAtLogind(
  phase: Phase,
  machine: Extract<MachineCourse, { kind: 'prepared' | 'scheduled' }>,
): CancelAnswer {
  const isDraining = phase.kind === 'draining';
  if (machine.kind === 'prepared') {
    if (phase.kind === 'recovering' && phase.voidLogind === machine.logind) return { says: ALREADY, ends: false };
    if (!isDraining) return { refusal: 'a shutdown has just begun; try again in a moment' };
  }
  const what = machine.kind === 'prepared' ? { logind: machine.logind } : machine.kind;
  const says = isNoticed(phase) ? `The shutdown is canceled, but a notice takes the machine away; ${SEE}` : CANCELED;
  return { says: isDraining ? says : 'The scheduled shutdown is canceled.', ends: isDraining, machine: what };
}

/** Calls off a shutdown that nobody has announced. */
function cancelOfMachine({ phase, machine }: TriggerFacts): CancelAnswer {
  if (phase.kind === 'released') {
    return { refusal: `it is too late, the machine has been let go and goes down: ${phase.reason}` };
  }
  switch (machine.kind) {
    case 'stopping':
      return { refusal: 'it is too late, systemd stops the units of the machine' };
    case 'unknown':
      return { refusal: 'logind or systemd does not answer, so nothing can be called off; try again' };
    case 'prepared':
    case 'scheduled':
      return cancelAtLogind(phase, machine);
    case 'up':
      if (isNoticed(phase)) {
        return { refusal: `a notice takes the machine away, and only who gave it can take it back` };
      }
      return {
        says: phase.kind === 'watching' ? 'No shutdown is announced; nothing is canceled.' : ALREADY,
        ends: false,
      };
  }
}

/** What becomes of a shutdown that is called off over the control socket. */
export function cancelAnswer(facts: TriggerFacts): CancelAnswer {
  const { phase, inForce, machine } = facts;
  if (inForce === undefined) return cancelOfMachine(facts);
  const isOfMachine = machine.kind === 'prepared' || (machine.kind === 'scheduled' && isOwnSchedule(facts));
  if (phase.kind === 'draining' && isOfMachine) return cancelAtLogind(phase, machine);
  if (goesDownAnyway(facts) || isNoticed(phase)) {
    const anyway = 'but the machine goes down all the same, or logind cannot be asked';
    return { says: `The announcement is taken back, ${anyway}; ${SEE}`, ends: false };
  }
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  return { says: isHeld ? CANCELED : 'The shutdown is canceled.', ends: isHeld };
}
