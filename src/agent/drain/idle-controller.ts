import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { type ControllerLife, type LeaseLife, longestSilenceMs, traceText } from '../../decide/shutdown/drainer.ts';
import { idleControllerEvent, type PhaseEvent } from '../../decide/shutdown/events.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Clock } from '../../host/clock.ts';
import type { NodeEvictionRequests } from '../cluster/eviction-requests.ts';

/**
 * Notices a controller that keeps its Lease and does nothing for the shutdown of this node: one that hangs, may not write
 * NodeMaintenances, or is none at all. What was noticed counts until the shutdown is over, so that the drain does not change
 * hands again and again.
 */
export interface IdleController {
  /** Looks at the drain of the shutdown; returns what to go by in place of what the Lease shows. */
  look(sight: IdleSight): ControllerLife;
  isIdle(): boolean;
  /** For how long the controller has done nothing, in milliseconds; 0 while it does something. */
  idleMs(): number;
}

/** What is known of the shutdown and its drain. */
interface IdleSight {
  readonly phase: Phase;
  readonly life: LeaseLife;
  /** Whether the API server answers: else the copies say nothing of what a controller does. */
  readonly isAnswered: boolean;
  /** The maintenances of the node that are in progress. */
  readonly maintenances: readonly NodeMaintenance[];
}

interface IdleControllerDependencies {
  readonly nodeName: string;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly requests: Pick<NodeEvictionRequests, 'list'>;
  /** After how long such a controller is not waited for any more, in milliseconds. */
  readonly maxIdleMs: number;
  readonly announce: (event: PhaseEvent) => void;
}

/** What was seen of a controller's work last, and since when it has not changed, on the monotonic clock. */
interface Seen {
  readonly text: string;
  readonly since: number;
}

export function createIdleController(dependencies: IdleControllerDependencies): IdleController {
  const { nodeName, clock, requests, maxIdleMs, announce } = dependencies;
  let seen: Seen | undefined;
  let isFound = false;
  const idleMs = (): number => (seen === undefined ? 0 : clock.monotonic() - seen.since);
  /** Notes what a controller has written; returns for how long it may be silent. */
  const note = (own: NodeMaintenance): number => {
    const trace = { node: nodeStatusOf(own.status, nodeName), requests: requests.list() };
    const text = traceText(trace);
    if (seen?.text !== text) seen = { text, since: clock.monotonic() };
    return longestSilenceMs(trace, maxIdleMs, clock.now());
  };
  return {
    look: ({ phase, life, isAnswered, maintenances }) => {
      if (phase.kind !== 'draining') isFound = false;
      const isSeen = phase.kind === 'draining' && life !== 'dead' && (isAnswered || isFound);
      if (!isSeen) seen = undefined;
      if (!isSeen || isFound) return isSeen ? 'idle' : life;
      const own = maintenances.find(({ metadata }) => metadata.name === phase.maintenance);
      const allowedMs = own === undefined ? Infinity : note(own);
      if (idleMs() < allowedMs) return life;
      isFound = true;
      announce(idleControllerEvent(nodeName, phase.maintenance, idleMs()));
      return 'idle';
    },
    isIdle: () => isFound,
    idleMs,
  };
}
