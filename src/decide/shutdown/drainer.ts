import type { Phase } from './phase.ts';

/** What the controller's Lease shows; `unknown` while it was not observed for long enough, or need not be observed. */
export type LeaseLife = 'alive' | 'dead' | 'unknown';

/** Whether a controller can be counted on; `idle` is one that keeps its Lease and does nothing for this node's shutdown. */
export type ControllerLife = LeaseLife | 'idle';

/** Why the agent drains its node, in the words that follow what it says of that. */
export const WHY_SELF = {
  dead: 'no controller is alive',
  idle: 'the controller does nothing for the shutdown of this node',
} as const;

/** What the agent adds to what it writes in the controller's place. */
export const BY_AGENT = 'by the agent of the node';

/** Whether the API server is given up for now: then the node is drained from the local record, whatever a Lease says. */
export function isOffline(phase: Phase): boolean {
  return phase.kind === 'draining' && phase.mode === 'offline';
}

/** Whether the agent drains the node in the place of a controller. Until that is known to be dead or idle, the drain is left to it. */
export function drainsAlone(controller: ControllerLife): boolean {
  return controller === 'dead' || controller === 'idle';
}
