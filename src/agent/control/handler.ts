import { NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ManualRequests } from '../static-pods/manual.ts';
import type { ControlHandler } from './socket.ts';
import type { AgentStatus } from './status.ts';

/** What the control socket asks of a running agent. */
export interface ControlCommands {
  status(): AgentStatus;
  /** Announces a shutdown, `deadlineMs` milliseconds from now where given; `undefined` takes it back. */
  trigger(reason: string | undefined, deadlineMs?: number): void;
  release(reason: string): void;
}

/** Answers the control socket; `serve` is called when the agent is ready. */
export interface ControlDispatcher {
  readonly handle: ControlHandler;
  serve(verbs: ControlCommands): void;
}

/** Handles control commands. Before the agent is ready, only manual requests for static pods are queued; others are refused. */
export function createControlDispatcher(byHand: ManualRequests, log: Log, wake: () => void): ControlDispatcher {
  let verbs: ControlCommands | undefined;
  const ready = (): ControlCommands => {
    if (verbs !== undefined) return verbs;
    throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
  };
  return {
    serve: (served) => {
      verbs = served;
    },
    handle: (request) => {
      if (request.verb === 'status') return Promise.resolve(ready().status());
      if (request.verb === 'release') ready().release(request.reason);
      else if (request.verb === 'park') byHand.park(request.file);
      else if (request.verb === 'restore') byHand.restore(request.file);
      else if (request.verb === 'trigger') ready().trigger(request.reason, request.deadlineMs);
      else ready().trigger(undefined);
      log.info(request, 'told over the control socket');
      wake();
      return Promise.resolve({ done: request.verb });
    },
  };
}
