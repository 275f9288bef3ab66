import type { Phase } from './phase.ts';

/**
 * Who drains this node: the controller; its agent, because no controller is alive (`self`); or its agent, because no API
 * server answers (`offline`).
 */
export type DrainerKind = 'controller' | 'self' | 'offline';

/** What the controller's Lease shows; `unknown` while it was not observed for long enough, or need not be observed. */
export type ControllerLife = 'alive' | 'dead' | 'unknown';

/** Whether the API server is given up for now: then the node is drained from the local record, whatever a Lease says. */
export function isOffline(phase: Phase): boolean {
  return phase.kind === 'draining' && phase.mode === 'offline';
}

/** Chooses who drains the node now. Until the controller is known to be dead, the drain is left to it. */
export function chooseDrainer(phase: Phase, controller: ControllerLife): DrainerKind {
  if (isOffline(phase)) return 'offline';
  return controller === 'dead' ? 'self' : 'controller';
}
