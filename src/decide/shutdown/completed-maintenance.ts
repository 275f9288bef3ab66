import type { Phase, PhaseFacts, Shutdown } from './phase.ts';
import { LONGEST_RUNNING_MS } from './running-pods.ts';

type Draining = Extract<Phase, { readonly kind: 'draining' }>;

/**
 * A drain that goes on without the cluster after somebody has completed the NodeMaintenance of its shutdown. Nobody can tell
 * whether that was a person who wants to end the drain, or a thief of the controller's token, so the pods get a short time to end
 * in their order (docs/adr/0011-maintenance-of-a-shutdown-ended-by-others.md).
 */
export type Alone = Draining & { readonly completed: NonNullable<Shutdown['completed']> };

/** Whether somebody has completed the NodeMaintenance of a shutdown whose drain goes on. */
export function isAlone(phase: Phase): phase is Alone {
  return phase.kind === 'draining' && phase.completed !== undefined;
}

/** The drain from now on: the time that is left is a deadline like any other. */
export function goingOnAlone(phase: Draining, { now, sinceBootMs }: PhaseFacts): Alone {
  const at = now + LONGEST_RUNNING_MS;
  const deadline = at < (phase.deadline?.at ?? Infinity) ? { at, since: now } : phase.deadline;
  return { ...phase, ...(deadline === undefined ? {} : { deadline }), mode: 'offline', completed: { sinceBootMs } };
}

/** Why the machine waits no longer, where the time of such a drain is over; else undefined. */
export function leftAlone(
  { maintenance, completed, deadline }: Shutdown,
  { now, sinceBootMs, running }: PhaseFacts,
): string | undefined {
  if (completed === undefined) return undefined;
  const isOver = sinceBootMs - completed.sinceBootMs >= LONGEST_RUNNING_MS || now >= (deadline?.at ?? Infinity);
  if (!isOver) return undefined;
  const names = running === undefined ? 'not known' : running.length === 0 ? 'none that is known' : running.join(', ');
  return `${ended(maintenance)}; the agent went on for ${LONGEST_RUNNING_MS / 1000} s at most, and the pods that still ran are: ${names}`;
}

/** Why the machine goes down where the container runtime does not tell what runs in such a drain. */
export function leftUnknown(maintenance: string, reason: string): string {
  return `${ended(maintenance)}, and the container runtime does not tell what runs (${reason})`;
}

function ended(maintenance: string): string {
  return `somebody has completed the NodeMaintenance ${maintenance}, which ends the drain`;
}

/** Why a drain goes on without the cluster whose NodeMaintenance somebody has completed, and for how long. */
export function goesOnAlone(maintenance: string): string {
  const forSec = LONGEST_RUNNING_MS / 1000;
  return `somebody has completed the NodeMaintenance ${maintenance}, so the agent goes on without the cluster for ${forSec} s at most`;
}
