import { NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ManualRequests } from '../static-pods/manual.ts';
import type { ControlClient } from './protocol.ts';
import type { ControlHandler } from './socket.ts';
import type { AgentStatus } from './status.ts';

/** A shutdown that a client announces, `deadlineMs` milliseconds from now where given. */
interface TriggerRequest {
  readonly by: ControlClient;
  readonly reason: string;
  readonly deadlineMs?: number | undefined;
  /** Who asks, in words; undefined where the client is older and does not say which process it is. */
  readonly asker: string | undefined;
}

/** The commands of the control socket that need a running agent. */
export interface ControlCommands {
  status(): AgentStatus;
  /** Announces a shutdown; returns what becomes of it, as a sentence. Throws USAGE where this client may not do so now. */
  trigger(asked: TriggerRequest): Promise<string>;
  /** Takes an announced shutdown back, with its deadline; returns what becomes of it. Throws USAGE where none was announced. */
  cancel(asker: string | undefined): Promise<string>;
  release(reason: string): void;
}

/** Answers the control socket; `serve` is called when the agent is ready. */
export interface ControlDispatcher {
  readonly handle: ControlHandler;
  serve(commands: ControlCommands): void;
}

/** A reason with who gave it, for the story of the shutdown. */
function withAsker(reason: string, asker: string | undefined): string {
  return asker === undefined ? reason : `${reason} (asked by ${asker})`;
}

/** What the commands need around them. */
interface ControlSurroundings {
  readonly manual: ManualRequests;
  readonly log: Log;
  /** Says who the process of the pid is, in one line. Never throws. */
  readonly describe: (pid: number) => Promise<string>;
  readonly wake: () => void;
}

/** Handles control commands. Before the agent is ready, only manual requests for static pods are queued; others are refused. */
export function createControlDispatcher({ manual, log, describe, wake }: ControlSurroundings): ControlDispatcher {
  let commands: ControlCommands | undefined;
  const ready = (): ControlCommands => {
    if (commands !== undefined) return commands;
    throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
  };
  return {
    serve: (served) => {
      commands = served;
    },
    handle: async (request, by, pid) => {
      if (request.verb === 'status') return ready().status();
      const asker = pid === undefined ? undefined : await describe(pid);
      let says: string | undefined;
      if (request.verb === 'release') ready().release(withAsker(request.reason, asker));
      else if (request.verb === 'park') manual.park(request.file);
      else if (request.verb === 'restore') manual.restore(request.file);
      else if (request.verb === 'trigger') says = await ready().trigger({ ...request, by, asker });
      else says = await ready().cancel(asker);
      log.info({ ...request, by, ...(asker !== undefined && { asker }) }, 'told over the control socket');
      wake();
      return { done: request.verb, ...(says === undefined ? {} : { says }) };
    },
  };
}
