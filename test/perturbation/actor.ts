import { describeError } from '../../src/errors.ts';
import { createRecordingLog } from '../support/agent/recording-log.ts';
import { createPerturbingClient } from './client.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Plan } from './plan.ts';
import type { Scope } from './scope.ts';
import { createTrace, type Trace } from './trace.ts';

/** What a program runs with. */
export interface Running {
  /** A client that the plan perturbs, made from a connection that is closed when the program has ended. */
  client(connection: KubeClient): KubeClient;
  readonly log: Log;
  /** Aborted when the program is asked to stop. */
  readonly asked: AbortSignal;
  /** Aborted when the program ends without warning. */
  readonly killed: AbortSignal;
}

/** A program that runs in the process of the test, and is started again where the plan ends it. */
export interface Actor {
  readonly name: string;
  readonly trace: Trace;
  readonly log: readonly string[];
  /** Why it ended by itself, if it has. */
  failure(): string | undefined;
  start(): void;
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<void>;
}

/** What an actor is made from. */
export interface ActorOptions {
  readonly name: string;
  readonly plan: Plan | undefined;
  readonly scope: Scope;
  readonly plain: (name: string) => string;
  readonly run: (running: Running) => Promise<void>;
}

/** Makes an actor, which does not run yet. */
export function createActor({ name, plan, scope, plain, run }: ActorOptions): Actor {
  const trace = createTrace(name, plan, plain);
  const log = createRecordingLog();
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let failure: string | undefined;

  /** Runs the program once; returns whether the plan has ended it. */
  const live = async (asked: AbortSignal): Promise<boolean> => {
    const ending = new AbortController();
    const connections: KubeClient[] = [];
    const crash = (): void => {
      log.warn({}, 'the plan ends the program');
      ending.abort(new Error('the program has ended'));
    };
    const client = (connection: KubeClient): KubeClient => {
      connections.push(connection);
      return createPerturbingClient(connection, { scope, trace, life: { ended: ending.signal, crash } });
    };
    try {
      await run({ client, log, asked, killed: ending.signal });
      if (!asked.aborted && !ending.signal.aborted) failure = 'it ended without being asked to';
    } catch (error) {
      if (!ending.signal.aborted) failure = describeError(error);
    } finally {
      for (const connection of connections) connection.close();
    }
    return ending.signal.aborted;
  };

  /** A supervisor starts it again at once: what it had in memory is lost. */
  const supervise = async (asked: AbortSignal): Promise<void> => {
    for (let isCrashed = true; isCrashed && !asked.aborted; ) isCrashed = await live(asked);
  };

  return {
    name,
    trace,
    log: log.lines,
    failure: () => failure,
    start: () => {
      stopping = new AbortController();
      running = supervise(stopping.signal);
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
