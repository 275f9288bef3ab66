import { deadlineAt } from '../time.ts';
import { canceler, type Phase, remakeAt, type Shutdown } from './phase.ts';
import { goesOnAlone } from './completed-maintenance.ts';
import type { Transition } from './transition.ts';

/** What a transition is announced as: a line of the log, an Event of the Node, and a line to logged-in users. */
export interface PhaseEvent {
  readonly type: 'Normal' | 'Warning';
  /** The reason of the Event, in one word. */
  readonly reason: string;
  readonly message: string;
  /** Whether logged-in users get the message at their terminals. */
  readonly wall: boolean;
}

function event(reason: string, message: string, wall: boolean, type: PhaseEvent['type'] = 'Normal'): PhaseEvent {
  return { type, reason, message, wall };
}

/** The deadline of a shutdown that is held or was released, as the end of a sentence; empty where it has none. */
export function deadlineWords(phase: Phase): string {
  if ((phase.kind !== 'draining' && phase.kind !== 'released') || phase.deadline === undefined) return '';
  return `; ${deadlineAt(phase.deadline.at)}`;
}

/** That the NodeMaintenance of a drain that goes on was deleted; undefined where it was not. */
function deletionEvent(nodeName: string, from: Shutdown, to: Shutdown): PhaseEvent | undefined {
  const times = to.renamed?.deleted ?? 0;
  if (times === (from.renamed?.deleted ?? 0)) return undefined;
  const what = `Somebody has deleted the NodeMaintenance ${from.maintenance} of the shutdown of node ${nodeName}`;
  const pauseSec = (remakeAt(to) - (to.renamed?.sinceBootMs ?? 0)) / 1000;
  const when = pauseSec === 0 ? '' : ` in ${pauseSec} s, because it was deleted ${times} times`;
  const then = `the machine goes down all the same, and its drain goes on with another one, ${to.maintenance}${when}`;
  return event('MaintenanceDeleted', `${what}; ${then}.`, false, 'Warning');
}

/** That the API server refuses what a drain needs; undefined where it does not. */
function refusalEvent(nodeName: string, to: Shutdown): PhaseEvent | undefined {
  if (to.refusal === undefined) return undefined;
  const what = `The drain of node ${nodeName} gets no further in the cluster (${to.maintenance}): ${to.refusal}`;
  const then = 'the agent ends the pods itself, without PodDisruptionBudgets and interceptors';
  return event('DrainRefused', `${what}; ${then}.`, false, 'Warning');
}

/** That the NodeMaintenance of a drain was completed, which goes on for a short time; undefined where it was not. */
function completionEvent(nodeName: string, from: Shutdown, to: Shutdown): PhaseEvent | undefined {
  if (to.completed === undefined || from.completed !== undefined) return undefined;
  const how = '"nodemaint release" on the node ends it at once';
  return event(
    'MaintenanceCompleted',
    `Shutdown of node ${nodeName}: ${goesOnAlone(to.maintenance)}; ${how}.`,
    false,
    'Warning',
  );
}

function bootEvent(nodeName: string, from: Phase, { maintenance, reason }: Shutdown): PhaseEvent {
  if (from.kind === 'draining') {
    const down = `Node ${nodeName} went down before its pods had ended (${maintenance}, ${reason})`;
    return event('WentDownUndrained', `${down}: the shutdown was forced, or the power was cut.`, false, 'Warning');
  }
  if (from.kind === 'released' && from.forced !== undefined) {
    const left = `Node ${nodeName} is back; it had gone down with pods still there (${maintenance})`;
    return event('BackAfterForced', `${left}: ${from.forced}.`, false, 'Warning');
  }
  return event('NodeBack', `Node ${nodeName} is back after ${maintenance} (${reason}).`, false);
}

/** The event of a transition; undefined where there is none. Honest about what did not go well. */
export function phaseEventOf(nodeName: string, { name, from, to }: Transition): PhaseEvent | undefined {
  if (to.kind === 'watching') {
    return event('ShutdownOver', `Node ${nodeName}: everything that a shutdown took away is back.`, false);
  }
  const { maintenance, reason } = to;
  switch (name) {
    case 'begin': {
      const how = 'see "nodemaint status", or "nodemaint release" to wait no longer';
      return event(
        'ShutdownHeld',
        `${reason}: waiting for the pods of node ${nodeName} to leave${deadlineWords(to)}; ${how}.`,
        true,
      );
    }
    case 'finish':
      return event('ShutdownReleased', `The pods of node ${nodeName} have left (${maintenance}).`, true);
    case 'force': {
      const why = to.kind === 'released' ? to.forced : undefined;
      const left = `The shutdown of node ${nodeName} waits no longer, with pods still there (${maintenance})`;
      return event('ShutdownForced', `${left}: ${why}.`, true, 'Warning');
    }
    case 'cancel':
      return event(
        'ShutdownCanceled',
        `The shutdown of node ${nodeName} was called off${canceler(to)} (${maintenance}).`,
        true,
      );
    case 'boot':
      return bootEvent(nodeName, from, to);
    case 'rename':
    case 'loseCluster':
      if (from.kind === 'watching') return undefined;
      return completionEvent(nodeName, from, to) ?? deletionEvent(nodeName, from, to) ?? refusalEvent(nodeName, to);
    case 'handOver':
    case 'tighten':
    case 'specify':
    case 'relax':
    case 'settle':
      return undefined;
  }
}

/** The controller keeps its Lease and has done nothing for the shutdown for so long, in milliseconds. */
export function idleControllerEvent(nodeName: string, maintenance: string, idleMs: number): PhaseEvent {
  const idle = `The controller renews its Lease, and for ${Math.round(idleMs / 1000)} s it has done nothing for the shutdown of node ${nodeName} (${maintenance})`;
  const then = 'the agent drains the node itself until the shutdown is over';
  return event('ControllerIdle', `${idle}; ${then}.`, false, 'Warning');
}

/** The agent's state cannot be written any more, or is written again where `problem` is undefined. */
export function storageEvent(nodeName: string, problem: string | undefined): PhaseEvent {
  if (problem === undefined) {
    return event('StateSaved', `Node ${nodeName}: what the agent has to remember is on the disk again.`, false);
  }
  const meaning = 'the agent goes on from memory and holds and drains a shutdown as always';
  return event('StateNotSaved', `Node ${nodeName}: ${problem}; ${meaning}.`, false, 'Warning');
}

/** The machine went down while an agent ran, and no drain had begun; announced when the next agent starts. */
export function uncleanShutdownEvent(nodeName: string): PhaseEvent {
  const how = 'a forced reboot (reboot -ff), a crash, or the power; or the disk took no writes';
  return event('WentDownUnasked', `Node ${nodeName} went down without asking anybody: ${how}.`, false, 'Warning');
}
