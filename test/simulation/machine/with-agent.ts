/** The machine of a history's node that has the agent, as the steps of the chaos test reach it. */
import type { Machine } from '../../chaos/machine/machine.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import type { Connection, Network } from '../network.ts';
import { createSimulatedMachine, type SimulatedMachine } from './machine.ts';

/** What of a machine the steps and the invariants of the chaos test use. */
export type HistoryMachine = SimulatedMachine &
  Pick<Machine, 'startAgent' | 'endAgent' | 'isAgentUp' | 'cutOff' | 'disturbedAt' | 'failure'>;

interface RunningAgent {
  readonly connection: Connection;
  readonly stop: AbortController;
  readonly kill: AbortController;
}

/** How long an agent that is asked to stop may take. */
const STOP_MS = 5_000;

/** Lays out a machine whose agent can be started and ended; none runs yet. */
export function createHistoryMachine(network: Network, nodeName: string): HistoryMachine {
  const { time } = network;
  let connection = network.connect(`system:node:${nodeName}`);
  const machine = createSimulatedMachine(time, nodeName, () => connection.client);
  let running: RunningAgent | undefined;
  let failure: string | undefined;
  return Object.assign(machine, {
    startAgent: () => {
      if (running !== undefined) return Promise.resolve('it runs already');
      connection = network.connect(`system:node:${nodeName}`);
      const own = { connection, stop: new AbortController(), kill: new AbortController() };
      const ended = machine.runAgent({ log: SILENT_LOG, asked: own.stop.signal, killed: own.kill.signal });
      void ended.catch((error: unknown) => {
        if (!own.kill.signal.aborted && !own.stop.signal.aborted) failure = String(error);
      });
      running = own;
      return Promise.resolve('started');
    },
    endAgent: async (how: 'stop' | 'kill') => {
      if (running === undefined) return 'none runs';
      const own = running;
      running = undefined;
      if (how === 'stop') {
        own.stop.abort();
        await time.pass(STOP_MS);
      }
      own.connection.kill();
      own.kill.abort();
      return 'ended';
    },
    isAgentUp: () => running !== undefined,
    cutOff: (ms: number) => {
      running?.connection.cutOff(ms);
      return Promise.resolve();
    },
    disturbedAt: () => 0,
    failure: () => failure,
  });
}
