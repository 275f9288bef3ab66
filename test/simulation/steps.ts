/** The steps of simulated histories: those of the chaos test, but for what needs a machine, and some of its own. */
import type { StepKinds } from '../chaos/history.ts';
import { AGENT_STEPS } from '../chaos/steps/agents.ts';
import { CLUSTER_STEPS } from '../chaos/steps/cluster.ts';
import { MAINTENANCE_STEPS } from '../chaos/steps/maintenances.ts';
import { NODE_STEPS } from '../chaos/steps/nodes.ts';
import { POD_STEPS } from '../chaos/steps/pods.ts';
import { REQUEST_STEPS } from '../chaos/steps/requests.ts';
import type { ModelServer } from './api-server/server.ts';
import type { HistoryMachine } from './machine/with-agent.ts';
import type { SimulatedReplicas } from './replicas.ts';
import type { VirtualTime } from './time.ts';

/** What the model does not have: admission policies that refuse, and namespaces that end. */
const LEFT_OUT = ['refuse changes of node', 'accept changes of node', 'delete namespace'];

/** What the steps of a simulation reach beside the world. */
export interface Stage {
  readonly time: VirtualTime;
  readonly server: ModelServer;
  readonly replicas: SimulatedReplicas;
  /** The machine that has an agent; some histories have none. */
  readonly machine?: HistoryMachine | undefined;
}

/** Makes the kinds; all of one history act on the same stage. */
export function simulatedSteps({ time, server, replicas, machine }: Stage): StepKinds {
  const all = { ...NODE_STEPS, ...POD_STEPS, ...MAINTENANCE_STEPS, ...REQUEST_STEPS, ...CLUSTER_STEPS };
  const kept = Object.entries(all).filter(([name]) => !LEFT_OUT.includes(name));
  return {
    ...Object.fromEntries(kept),
    ...(machine === undefined ? {} : AGENT_STEPS),
    wait: {
      weight: 14,
      draw: (random) => ({ ms: random.pick([50, 300, 1_500, 20_000, 120_000, 1_500_000]) }),
      perform: async (_, { ms }) => {
        await time.pass(Number(ms));
        return 'done';
      },
    },
    rest: { weight: 3, draw: () => ({}), perform: () => Promise.resolve('done') },
    'restart API server': {
      weight: 1,
      draw: (random) => ({ awayMs: random.whole(20_000), forgets: random.whole(2) }),
      perform: async (_, { awayMs, forgets }) => {
        await replicas.cutOff(Number(awayMs));
        if (forgets === 1) server.compact();
        return 'restarted';
      },
    },
    'kill controller at a write': {
      weight: 3,
      draw: (random) => ({ writes: 1 + random.whole(6), arrives: random.whole(2) }),
      perform: (_, { writes, arrives }) => Promise.resolve(replicas.killAtWrite(Number(writes), arrives === 1)),
    },
    'start controller': { weight: 5, draw: () => ({}), perform: () => replicas.start() },
  };
}
