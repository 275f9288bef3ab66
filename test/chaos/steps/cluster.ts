import { setTimeout as sleep } from 'node:timers/promises';
import { collectionPath, DISRUPTION_BUDGETS, objectPath } from '../../../src/kube/resource.ts';
import type { StepKinds } from '../history.ts';
import { budgetObject } from '../objects.ts';
import type { InterceptorMode } from '../world.ts';

const MODES = ['works', 'declines', 'silent', 'beats', 'lies'] as const satisfies readonly InterceptorMode[];

/** How far a wall clock that is stepped is ahead of the true time afterwards. */
export const CLOCKS_AHEAD_SEC = [-3_600, -30, 0, 30, 3_600] as const;

/** What happens to the rest of the cluster: budgets, namespaces, interceptors, controllers, the API server, time. */
export const CLUSTER_STEPS: StepKinds = {
  'set budget': {
    weight: 4,
    draw: (random) => ({ state: random.pick(['open', 'closed']), namespace: random.whole(2) }),
    perform: async (world, step) => {
      const namespace = world.namespaces[step['namespace'] === 1 ? 1 : 0];
      const body = budgetObject(namespace, step['state'] === 'open' ? 'open' : 'closed');
      const path = objectPath(DISRUPTION_BUDGETS, { name: 'chaos', namespace });
      return String(await world.send({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: 'chaos' } }));
    },
  },
  'delete budget': {
    weight: 1,
    draw: (random) => ({ namespace: random.whole(2) }),
    perform: async (world, step) => {
      const namespace = world.namespaces[step['namespace'] === 1 ? 1 : 0];
      const path = `${collectionPath(DISRUPTION_BUDGETS, namespace)}/chaos`;
      return String(await world.send({ method: 'DELETE', path }));
    },
  },
  'delete namespace': {
    weight: 1,
    draw: () => ({}),
    perform: async (world) =>
      String(await world.send({ method: 'DELETE', path: `/api/v1/namespaces/${world.namespaces[1]}` })),
  },
  'set interceptors': {
    weight: 3,
    draw: (random) => ({ mode: random.pick(MODES) }),
    perform: (world, step) => {
      world.interceptors = MODES.find((mode) => mode === step['mode']) ?? 'works';
      return Promise.resolve('done');
    },
  },
  'kill controller': {
    weight: 1,
    draw: () => ({}),
    perform: ({ cluster }) => cluster.disturb('kill controller', cluster.replicas.kill),
  },
  'stop controller': {
    weight: 1,
    draw: () => ({}),
    perform: ({ cluster }) => cluster.disturb('stop controller', cluster.replicas.stop),
  },
  'start controller': {
    weight: 1,
    draw: () => ({}),
    perform: ({ cluster }) => cluster.disturb('start controller', cluster.replicas.start),
  },
  'restart API server': {
    weight: 1,
    draw: (random) => ({ awayMs: random.whole(3_000) }),
    perform: ({ cluster }, step) =>
      cluster.disturb('restart API server', async () => {
        await cluster.controlPlane.stopApiServer();
        await sleep(Number(step['awayMs']));
        await cluster.controlPlane.startApiServer();
        return 'restarted';
      }),
  },
  'cut controller off': {
    weight: 1,
    draw: (random) => ({ ms: random.whole(2_000) }),
    perform: ({ cluster }, step) =>
      cluster.disturb('cut controller off', async () => {
        await cluster.replicas.cutOff(Number(step['ms']));
        return 'cut off';
      }),
  },
  'step clock of controller': {
    weight: 1,
    draw: (random) => ({ aheadSec: random.pick(CLOCKS_AHEAD_SEC) }),
    perform: ({ cluster }, step) =>
      cluster.disturb(`step clock of controller ${step['aheadSec']}`, async () => {
        await cluster.replicas.setClock(Number(step['aheadSec']) * 1_000);
        return 'done';
      }),
  },
  wait: {
    weight: 4,
    draw: (random) => ({ ms: 200 + random.whole(1_300) }),
    perform: async (_, step) => {
      await sleep(Number(step['ms']));
      return 'done';
    },
  },
  /** The history is judged here when nothing moves any more: see run.ts. */
  rest: { weight: 3, draw: () => ({}), perform: () => Promise.resolve('done') },
};
