import { mayHandOver, type Phase } from './phase.ts';

/** What the world is to hear of a change of phase: the log always, the Node as an Event, logged-in users by a line. */
export interface PhaseEvent {
  readonly type: 'Normal' | 'Warning';
  /** The reason of the Event, in one word. */
  readonly reason: string;
  readonly message: string;
  /** Whether users at terminals are told. */
  readonly wall: boolean;
}

function news(reason: string, message: string, wall: boolean, type: PhaseEvent['type'] = 'Normal'): PhaseEvent {
  return { type, reason, message, wall };
}

type Draining = Extract<Phase, { readonly kind: 'draining' }>;

/** That somebody has deleted the NodeMaintenance of a drain that goes on; undefined where nobody has. */
function deletionNews(nodeName: string, previous: Draining, next: Draining): PhaseEvent | undefined {
  const times = next.renamed?.deleted ?? 0;
  if (times === (previous.renamed?.deleted ?? 0)) return undefined;
  const what = `Somebody has deleted the NodeMaintenance ${previous.maintenance} of the shutdown of node ${nodeName}`;
  const then = mayHandOver(next)
    ? `its drain goes on with another one, ${next.maintenance}`
    : `that was the ${times}th time, so its drain goes on without the cluster`;
  return news('MaintenanceDeleted', `${what}; ${then}.`, false, 'Warning');
}

/** The news of a change from one phase to another; undefined where there is none. Honest about what did not go well. */
export function phaseEventOf(nodeName: string, previous: Phase, next: Phase): PhaseEvent | undefined {
  if (next.kind === 'watching') {
    return news('ShutdownOver', `Node ${nodeName}: everything that a shutdown took away is back.`, false);
  }
  const { maintenance, reason } = next;
  if (next.kind === 'draining') {
    if (previous.kind === 'draining') return deletionNews(nodeName, previous, next);
    const how = 'see "nodemaint status", or "nodemaint release" to wait no longer';
    return news('ShutdownHeld', `${reason}: waiting for the pods of node ${nodeName} to leave; ${how}.`, true);
  }
  if (next.kind === 'released') {
    if (next.forced === undefined) {
      return news('ShutdownReleased', `The pods of node ${nodeName} have left (${maintenance}).`, true);
    }
    const left = `The shutdown of node ${nodeName} waits no longer, with pods still there (${maintenance})`;
    return news('ShutdownForced', `${left}: ${next.forced}.`, true, 'Warning');
  }
  if (next.cause === 'canceled') {
    return news('ShutdownCanceled', `The shutdown of node ${nodeName} was called off (${maintenance}).`, true);
  }
  if (previous.kind === 'draining') {
    const down = `Node ${nodeName} went down before its pods had ended (${maintenance}, ${reason})`;
    return news('WentDownUndrained', `${down}: the shutdown was forced, or the power was cut.`, false, 'Warning');
  }
  return news('NodeBack', `Node ${nodeName} is back after ${maintenance} (${reason}).`, false);
}

/** The news that the agent's memory cannot be written any more, or is written again where `problem` is undefined. */
export function storageEvent(nodeName: string, problem: string | undefined): PhaseEvent {
  if (problem === undefined) {
    return news('StateSaved', `Node ${nodeName}: what the agent has to remember is on the disk again.`, false);
  }
  const meaning = 'the agent goes on from memory and holds and drains a shutdown as always';
  return news('StateNotSaved', `Node ${nodeName}: ${problem}; ${meaning}.`, false, 'Warning');
}

/** What is said at the start of an agent when the machine went down under the one before it, and no drain had begun. */
export function uncleanShutdownEvent(nodeName: string): PhaseEvent {
  const how = 'a forced reboot (reboot -ff), a crash, or the power; or the disk took no writes';
  return news('WentDownUnasked', `Node ${nodeName} went down without asking anybody: ${how}.`, false, 'Warning');
}
