import type { StepKinds } from '../history.ts';
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
  'stop agent': {
    weight: 1,
    draw: () => ({}),
    perform: ({ machine }) => machine.endAgent('stop'),
  },
  'start agent': {
    weight: 1,
    draw: () => ({}),
    perform: ({ machine }) => machine.startAgent(),
  },
  'cut agent off': {
    weight: 1,
    draw: (random) => ({ ms: random.whole(2_000) }),
    perform: async ({ machine }, step) => {
      await machine.cutOff(Number(step['ms']));
      return 'cut off';
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
