import { NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import type { StepKinds } from '../history.ts';
import { shutdownPrefix } from '../world.ts';
import { CLOCKS_AHEAD_SEC } from './cluster.ts';

/** What happens to the machine that has the real agent. */
export const AGENT_STEPS: StepKinds = {
  'restart agent': {
    weight: 2,
    draw: (random) => ({ how: random.pick(['stop', 'kill']) }),
    perform: async ({ machine }, step) => {
      await machine.endAgent(step['how'] === 'stop' ? 'stop' : 'kill');
      return await machine.startAgent();
    },
  },
  'stop agent': { weight: 1, draw: () => ({}), perform: ({ machine }) => machine.endAgent('stop') },
  'start agent': { weight: 1, draw: () => ({}), perform: ({ machine }) => machine.startAgent() },
  'cut agent off': {
    weight: 1,
    draw: (random) => ({ ms: random.whole(2_000) }),
    perform: async ({ machine }, step) => {
      await machine.cutOff(Number(step['ms']));
      return 'cut off';
    },
  },
  'announce shutdown': { weight: 1, draw: () => ({}), perform: ({ machine }) => machine.announceShutdown() },
  'call off shutdown': { weight: 2, draw: () => ({}), perform: ({ machine }) => machine.callOffShutdown() },
  'end maintenance of shutdown': {
    weight: 1,
    draw: (random) => ({ how: random.pick(['complete', 'delete']) }),
    perform: async (world, step) => {
      const found = world.maintenances().find(({ metadata }) => metadata.name.startsWith(shutdownPrefix(world.id)));
      if (found === undefined) return 'no such maintenance';
      const path = objectPath(NODE_MAINTENANCES, found.metadata);
      const complete = {
        method: 'PATCH',
        path,
        body: { spec: { stage: 'Complete' } },
        patch: { kind: 'merge' },
      } as const;
      return String(await world.send(step['how'] === 'complete' ? complete : { method: 'DELETE', path }));
    },
  },
  'step clock of agent': {
    weight: 1,
    draw: (random) => ({ aheadSec: random.pick(CLOCKS_AHEAD_SEC) }),
    perform: ({ machine }, step) => {
      machine.setClock(Number(step['aheadSec']) * 1_000);
      return Promise.resolve('done');
    },
  },
};
