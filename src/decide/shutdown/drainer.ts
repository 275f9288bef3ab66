import type { EvictionRequest } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { NodeStatus } from '../../api/node-maintenance.ts';
import { timeOf } from '../time.ts';
import type { Phase } from './phase.ts';

/**
 * Who drains this node: the controller; its agent, because no controller drains it (`self`); or its agent, because no API
 * server answers (`offline`).
 */
export type DrainerKind = 'controller' | 'self' | 'offline';

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
/** Whom it names where its machine waits for its turn to reboot. */
export const MISSING_CONTROLLER = 'the missing controller';

/** Whether the API server is given up for now: then the node is drained from the local record, whatever a Lease says. */
export function isOffline(phase: Phase): boolean {
  return phase.kind === 'draining' && phase.mode === 'offline';
}

/** Chooses who drains the node now. Until the controller is known to be dead or idle, the drain is left to it. */
export function chooseDrainer(phase: Phase, controller: ControllerLife): DrainerKind {
  if (isOffline(phase)) return 'offline';
  return controller === 'dead' || controller === 'idle' ? 'self' : 'controller';
}

/** A message that names nothing for which the node waits. */
const NAMES_NOTHING = /^(?:|Evacuating(?: \([^;]*\))?|Drained\b.*)$/su;

/** Interceptors may be silent for 20 minutes, and a drain that others hold may change as seldom: so many times the shortest wait. */
const TIMES_AT_WORK = 6;

/** What a controller has written about the drain of a node's shutdown. */
interface ControllerTrace {
  /** What the status of its maintenance says of the node; undefined where it says nothing. */
  readonly node: NodeStatus | undefined;
  /** The open EvictionRequests of the node's pods. */
  readonly requests: readonly EvictionRequest[];
}

/** A text that changes with everything that a controller or an interceptor does; what the agent reports itself is left out. */
export function traceText({ node, requests }: ControllerTrace): string {
  const others = requests.map(({ metadata: { uid }, status: { interceptors = [], ...status } = {} }) => {
    return [uid, status, interceptors.filter(({ name }) => name !== KUBELET_INTERCEPTOR)];
  });
  return JSON.stringify([node, others]);
}

/**
 * For how long nothing may change before the controller counts as idle, in milliseconds; Infinity while the status says that
 * others go first, or when the pods will have ended. `maxIdleMs` is for a controller that has begun nothing, or said only that
 * it evacuates without asking for a pod; one that has, and then falls silent, has longer.
 */
export function longestSilenceMs({ node, requests }: ControllerTrace, maxIdleMs: number, now: number): number {
  const { drainMessage = '', podsEvacuating = 0, podsBlocking = [], volumesLeft = [] } = node ?? {};
  // What the agent wrote when no controller was alive stays until a controller writes something else.
  const isOwn = drainMessage.includes(BY_AGENT) || drainMessage.includes(MISSING_CONTROLLER);
  if (node === undefined || isOwn) return maxIdleMs;
  if (node.drainPlanPosition === undefined && drainMessage !== '') return Infinity;
  if ((timeOf(node.expectedFinishTime) ?? -Infinity) > now) return Infinity;
  const isAsking = requests.length > 0 || podsEvacuating > 0;
  const hasBegun = isAsking || podsBlocking.length > 0 || volumesLeft.length > 0 || !NAMES_NOTHING.test(drainMessage);
  return hasBegun ? TIMES_AT_WORK * maxIdleMs : maxIdleMs;
}
