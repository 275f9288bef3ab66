/** The replicas of the controller in a simulation: each is the whole controller, with a client and a clock of its own. */
import path from 'node:path';
import type * as Controller from '../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../src/controller/options.ts';
import type { Clock } from '../../src/host/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { SILENT_LOG } from '../support/silent-log.ts';
import type { Cluster } from '../chaos/world.ts';
import type { Connection, Network } from './network.ts';
import type { VirtualTime } from './time.ts';
import { CONTROLLER } from './world.ts';

/** The controller of the sources that a history is played against; what judges the history is always from this checkout. */
export type RunController = typeof Controller.runController;

/** Loads the controller from a checkout, or from a copy of one. */
export async function loadController(root: string): Promise<RunController> {
  const module = (await import(path.join(root, 'src/controller/leader/controller.ts'))) as typeof Controller;
  return module.runController;
}

interface Replica {
  readonly connection: Connection;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** Why it ended by itself, which it never should. */
  failure?: unknown;
}

const MAX = 2;
/** A finished request is deleted before the world is expected to be stable; a Lease is renewed seldom, for each renewal takes time. */
const OPTIONS = {
  requestTtl: '1m',
  leaderElectLeaseDuration: '120s',
  leaderElectRenewDeadline: '90s',
  leaderElectRetryPeriod: '30s',
};

/** What histories do to the replicas. */
export interface SimulatedReplicas {
  start(): Promise<string>;
  kill(): Promise<string>;
  /** Ends the oldest at a write so many writes from now, before it arrives or without its answer. */
  killAtWrite(writes: number, arrives: boolean): string;
  stop(): Promise<string>;
  cutOff(ms: number): Promise<void>;
  setClock(ms: number): Promise<void>;
  /** Starts one where none runs, and ends those that are to end. */
  settle(): Promise<void>;
  /** Why replicas ended by themselves. */
  failures(): readonly unknown[];
  /** Ends all of them. */
  end(): Promise<void>;
}

const controllerOptions = controllerOptionsSchema.parse(OPTIONS);

/** Runs a replica until `stop` is aborted; rejects where it ends by itself. */
export async function startReplica(
  runController: RunController,
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  stop: AbortSignal,
): Promise<void> {
  await runController({ client, clock, log: SILENT_LOG, options: controllerOptions }, stop);
}

export function createSimulatedReplicas(
  runController: RunController,
  time: VirtualTime,
  network: Network,
): SimulatedReplicas {
  const running: Replica[] = [];
  /** Those that are to end at a write. */
  const dying: Replica[] = [];
  const failures: unknown[] = [];
  let started = 0;
  let aheadMs = 0;
  const take = (act: (replica: Replica) => void, done: string): Promise<string> => {
    const replica = running.shift();
    if (replica === undefined) return Promise.resolve('none runs');
    act(replica);
    return Promise.resolve(done);
  };
  const start = (): Promise<string> => {
    if (running.length >= MAX) return Promise.resolve('two run');
    started += 1;
    const connection = network.connect(`${CONTROLLER}-${started}`);
    const stop = new AbortController();
    const clock = time.clock(() => aheadMs);
    const replica = { client: connection.client, clock };
    const ended = startReplica(runController, replica, stop.signal).catch((error: unknown) => {
      failures.push(error);
    });
    running.push({ connection, stop, ended });
    return Promise.resolve('started');
  };
  return {
    start,
    settle: async () => {
      for (const { connection } of dying.splice(0)) connection.kill();
      if (running.length === 0) await start();
    },
    kill: () =>
      take(({ connection }) => {
        connection.kill();
      }, 'killed'),
    killAtWrite: (writes, arrives) => {
      // A replica that is to end is none of those that run: another one may be started at once.
      const oldest = running.shift();
      if (oldest === undefined) return 'none runs';
      oldest.connection.killAtWrite(writes, arrives);
      dying.push(oldest);
      return 'will end';
    },
    stop: () =>
      take(({ stop }) => {
        stop.abort();
      }, 'stopped'),
    cutOff: (ms) => {
      for (const { connection } of running) connection.cutOff(ms);
      return Promise.resolve();
    },
    setClock: (ms) => {
      aheadMs = ms;
      return Promise.resolve();
    },
    failures: () => failures,
    end: async () => {
      for (const { connection, stop } of running) {
        stop.abort();
        connection.kill();
      }
      await time.pass(60_000);
    },
  };
}

/** The cluster of a history, as far as its steps reach it. */
export function clusterOf(replicas: SimulatedReplicas): Cluster {
  return {
    replicas,
    disturb: (_: string, action: () => Promise<string>) => action(),
    inPeace: (action: () => Promise<unknown>) => action(),
    disturbedAt: () => 0,
  } as unknown as Cluster;
}
