import { NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ManualRequests } from '../static-pods/manual.ts';
import type { ControlHandler } from './socket.ts';
import type { AgentStatus } from './status.ts';

/** The commands of the control socket that need a running agent. */
export interface ControlCommands {
  status(): AgentStatus;
  /** Announces a shutdown, `deadlineMs` milliseconds from now where given; `undefined` withdraws it. */
  trigger(reason: string | undefined, deadlineMs?: number): void;
  release(reason: string): void;
}

/** Answers the control socket; `serve` is called when the agent is ready. */
export interface ControlDispatcher {
  readonly handle: ControlHandler;
  serve(commands: ControlCommands): void;
}

/** Handles control commands. Before the agent is ready, only manual requests for static pods are queued; others are refused. */
export function createControlDispatcher(manual: ManualRequests, log: Log, wake: () => void): ControlDispatcher {
  let commands: ControlCommands | undefined;
  const ready = (): ControlCommands => {
    if (commands !== undefined) return commands;
    throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
  };
  return {
    serve: (served) => {
      commands = served;
    },
    handle: (request) => {
      if (request.verb === 'status') return Promise.resolve(ready().status());
      if (request.verb === 'release') ready().release(request.reason);
      else if (request.verb === 'park') manual.park(request.file);
      else if (request.verb === 'restore') manual.restore(request.file);
      else if (request.verb === 'trigger') ready().trigger(request.reason, request.deadlineMs);
      else ready().trigger(undefined);
      log.info(request, 'told over the control socket');
      wake();
      return Promise.resolve({ done: request.verb });
    },
  };
}
