import { createRecordingLog } from '../support/agent/recording-log.ts';
import { createPerturbingClient, type Life } from './client.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Plan } from './plan.ts';
import type { Scope } from './scope.ts';
import { createTrace, type Trace } from './trace.ts';

/** What a program runs with. */
export interface Running {
  /** A client of the plan; `as` says with whose credentials. */
  client(as: string): KubeClient;
  readonly log: Log;
  /** Aborted when the program is asked to stop, and when it ends without warning. */
  readonly stop: AbortSignal;
}

/** A program that runs in the process of the test, and is started again where the plan ends it. */
export interface Actor {
  readonly name: string;
  readonly trace: Trace;
  readonly log: readonly string[];
  /** How often the plan has ended it. */
  crashes(): number;
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
  /** Opens a connection with these credentials. */
  readonly connect: (as: string) => KubeClient;
  readonly run: (running: Running) => Promise<void>;
}

/** Makes an actor, which does not run yet. */
export function createActor({ name, plan, scope, plain, connect, run }: ActorOptions): Actor {
  const trace = createTrace(name, plan, plain);
  const log = createRecordingLog();
  const lives: Promise<void>[] = [];
  let stopping = new AbortController();
  let failure: string | undefined;
  let crashes = 0;

  const live = async (asked: AbortSignal): Promise<void> => {
    const ending = new AbortController();
    const clients: KubeClient[] = [];
    const life: Life = {
      ended: ending.signal,
      crash: () => {
        crashes += 1;
        log.warn({}, 'the plan ends the program');
        ending.abort(new Error('the program has ended'));
        // A supervisor starts it again at once: what the first one leaves behind in memory is lost.
        if (!asked.aborted) lives.push(live(asked));
      },
    };
    const client = (as: string): KubeClient => {
      const inner = connect(as);
      clients.push(inner);
      return createPerturbingClient(inner, { scope, trace, life });
    };
    try {
      await run({ client, log, stop: AbortSignal.any([asked, ending.signal]) });
      if (!asked.aborted && !ending.signal.aborted) failure = 'it ended without being asked to';
    } catch (error) {
      if (!ending.signal.aborted) failure = String(error);
    } finally {
      for (const each of clients) each.close();
    }
  };

  return {
    name,
    trace,
    log: log.lines,
    crashes: () => crashes,
    failure: () => failure,
    start: () => {
      stopping = new AbortController();
      lives.push(live(stopping.signal));
    },
    stop: async () => {
      stopping.abort();
      // One that ends may have been about to start the next.
      while (lives.length > 0) await lives.pop();
    },
  };
}
