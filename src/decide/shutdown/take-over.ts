/**
 * Who goes on with the drain of a shutdown is decided by progress: a controller with which it gets no further gives way to the
 * agent, and an API server with which the agent gets no further gives way to what the agent can do without one.
 */
import type { EvictionRequest, InterceptorStatus } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR } from '../../api/names.ts';
import { readInterceptorMessage, refusedBy } from '../interceptor/message.ts';
import { DRAINED, type NodeMaintenance, type NodeStatus, WAIT_REASONS } from '../../api/node-maintenance.ts';
import type { Deadline } from '../deadline/tiers.ts';
import { begunNode } from '../maintenance/recorded-node.ts';
import { timeOf } from '../time.ts';

/** How far the drain of a node has come, by what the status of its maintenance says. */
export type Stand =
  /** It has not begun: it waits for its turn, or for other maintenances. */
  | 'waits'
  /** It waits, because the control plane would lose its quorum: only the cluster, or a person, can say that it may go on. */
  | 'guarded'
  /** Pods leave that budgets and interceptors protect, or nothing is known yet. */
  | 'asks'
  /** All of these have left; DaemonSet pods and static pods follow. */
  | 'ends';

/** The stand of the node's drain for this maintenance; of one that is not known, nothing is. */
export function standOf(maintenance: NodeMaintenance | undefined, node: string): Stand {
  const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
  const reason = WAIT_REASONS.find((each) => each === drained?.reason);
  if (reason === 'WaitingForControlPlane') return 'guarded';
  // One that waits has the targets that other drains have reached.
  const { drainTargets = [] } = begunNode(maintenance?.status, { name: node }) ?? {};
  if (drainTargets.some(({ podType }) => podType !== 'Default')) return 'ends';
  return drainTargets.length > 0 || reason === undefined ? 'asks' : 'waits';
}

/** Interceptors may be silent for 20 minutes, and a drain that others hold may change as seldom: so many times the shortest wait. */
const TIMES_AT_WORK = 6;
/** A machine that waits for its turn has begun nothing. */
const TIMES_BEFORE_TURN = 12;
/** Of the time until a deadline no more than this part is spent on waiting for the cluster. */
const PART_OF_DEADLINE = 0.1;

/** What a controller has written about the drain of a node's shutdown. */
interface ControllerTrace {
  /** What the status of its maintenance says of the node; undefined where it says nothing. */
  readonly node: NodeStatus | undefined;
  /** The open EvictionRequests of the node's pods. */
  readonly requests: readonly EvictionRequest[];
}

/** What the status says of the node, without estimates and numbers of tries: they move on while nothing else does. */
function reachedBy(node: NodeStatus | undefined): unknown {
  const { expectedFinishTime: _, podsBlocking = [], ...reached } = node ?? {};
  return [reached, podsBlocking.map(({ namespace, name, reason }) => [namespace, name, reason])];
}

/**
 * What an interceptor has said; that a pod still ends after its time, or that nobody could be asked about it, is nothing new. Nor is
 * another refusal by a budget that the status does not have so: a controller whose statuses are refused counts its tries.
 */
function saidBy(entry: InterceptorStatus, recorded: string | undefined): unknown {
  const isLate = readInterceptorMessage(entry.message).kind === 'ending' && entry.expectedFinishTime === undefined;
  const by = refusedBy(entry.message);
  if (by === 'budget' && recorded !== entry.message?.slice(0, 1024)) return [entry.name, by];
  return isLate || by === 'failure' ? [entry.name, entry.message] : entry;
}

/** A text that changes with everything that a controller or an interceptor does; what the agent reports itself is left out. */
export function traceText({ node, requests }: ControllerTrace): string {
  const recorded = new Map((node?.podsBlocking ?? []).map((pod) => [`${pod.namespace}/${pod.name}`, pod.message]));
  const others = requests.map(({ metadata, spec, status: { interceptors = [], ...status } = {} }) => {
    const said = interceptors.filter(({ name }) => name !== KUBELET_INTERCEPTOR);
    const message = recorded.get(`${metadata.namespace}/${spec.target.pod.name}`);
    return [metadata.uid, status, said.map((entry) => saidBy(entry, message))];
  });
  return JSON.stringify([reachedBy(node), others]);
}

/**
 * For how long nothing may change before the controller counts as idle, in milliseconds; Infinity where only a person or the
 * cluster may let the drain begin. `maxIdleMs` is for a controller that asks nobody for anything.
 */
export function longestSilenceMs(
  { node, requests }: ControllerTrace,
  stand: Stand,
  maxIdleMs: number,
  now: number,
): number {
  if (stand === 'guarded') return Infinity;
  const { podsBlocking = [], volumesInUse } = node ?? {};
  // An estimate may be a year away: whoever ends a pod gives a sign of life each few minutes.
  const isEnding = (timeOf(node?.expectedFinishTime) ?? -Infinity) > now;
  const waitsForOthers =
    stand === 'waits' || isEnding || requests.length > 0 || podsBlocking.length > 0 || volumesInUse !== undefined;
  return node !== undefined && waitsForOthers ? TIMES_AT_WORK * maxIdleMs : maxIdleMs;
}

/** A drain with which the agent gets no further in the cluster. */
export interface Stall {
  readonly forMs: number;
  /** What the API server refuses or does not tell, as a sentence without its end; undefined where it does not answer. */
  readonly refusal: string | undefined;
  /** Whether the agent itself has begun the drain: nobody has written that it waits no more. */
  readonly isBegun?: boolean | undefined;
}

/** The limits of the configuration, in milliseconds. */
interface Limits {
  readonly apiWaitMs: number;
  readonly progressWaitMs: number;
}

/**
 * For how long such a drain waits for the API server that has taken its maintenance, in milliseconds. A server that is away is
 * not waited for where nobody would be asked any more, and longest by a machine that has begun nothing. A member of the control
 * plane that waits for the others is let go by a person, or a deadline: in an hour without an API server they may be gone, too.
 */
export function patienceMs(
  { deadline }: { readonly deadline?: Deadline },
  { refusal, isBegun = false }: Omit<Stall, 'forMs'>,
  { stand, now, apiWaitMs, progressWaitMs }: Limits & { readonly stand: Stand; readonly now: number },
): number {
  const isSilent = refusal === undefined;
  const times = { waits: isBegun ? 1 : TIMES_BEFORE_TURN, guarded: Infinity, asks: 1, ends: 1 }[stand];
  const patience = stand === 'ends' && isSilent ? apiWaitMs : times * progressWaitMs;
  if (deadline === undefined) return patience;
  return Math.min(patience, Math.max(apiWaitMs, (deadline.at - now) * PART_OF_DEADLINE));
}
