import { NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ManualRequests } from '../static-pods/manual.ts';
import type { ControlHandler } from './socket.ts';
import type { AgentStatus } from './status.ts';

/** A shutdown that a client announces, `deadlineMs` milliseconds from now where given. */
interface TriggerRequest {
  readonly reason: string;
  readonly deadlineMs?: number | undefined;
}

/** The commands of the control socket that need a running agent. */
export interface ControlCommands {
  status(): AgentStatus;
  /** Announces a shutdown; returns what becomes of it, as a sentence. */
  trigger(asked: TriggerRequest): Promise<string>;
  /** Takes an announced shutdown back, with its deadline; returns what becomes of it. Throws USAGE where none was announced. */
  cancel(): Promise<string>;
  release(reason: string): void;
}

/** Answers the control socket; `serve` is called when the agent is ready. */
export interface ControlDispatcher {
  readonly handle: ControlHandler;
  serve(commands: ControlCommands): void;
}

/** What the commands need around them. */
interface ControlSurroundings {
  readonly manual: ManualRequests;
  readonly log: Log;
  readonly wake: () => void;
}

/** Handles control commands. Before the agent is ready, only manual requests for static pods are queued; others are refused. */
export function createControlDispatcher({ manual, log, wake }: ControlSurroundings): ControlDispatcher {
  let commands: ControlCommands | undefined;
  const ready = (): ControlCommands => {
    if (commands !== undefined) return commands;
    throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
  };
  return {
    serve: (served) => {
      commands = served;
    },
    handle: async (request) => {
      if (request.verb === 'status') return ready().status();
      let says: string | undefined;
      if (request.verb === 'release') ready().release(request.reason);
      else if (request.verb === 'park') manual.park(request.file);
      else if (request.verb === 'restore') manual.restore(request.file);
      else if (request.verb === 'trigger') says = await ready().trigger(request);
      else says = await ready().cancel();
      log.info(request, 'told over the control socket');
      wake();
      return { done: request.verb, ...(says === undefined ? {} : { says }) };
    },
  };
}
