import { DAEMON_SETS, collectionPath, keyOf, objectPath, PODS } from '../../../src/kube/resource.ts';
import type { Arguments, Past, StepKinds } from '../history.ts';
import { daemonSetObject, POD_SORTS, type PodSort, podObject } from '../objects.ts';
import type { Random } from '../random.ts';
import { MACHINE_NODE, NODES_PER_HISTORY, type World } from '../world.ts';
import type { ObjectMeta } from '../../../src/api/meta.ts';

const PODS_PER_HISTORY = 6;

const drawPod = (random: Random, past: Past): Arguments => ({ pod: random.pick(past.pods) });

/** The pod of a number as it is now, whichever namespace it is in. */
export function podOf(world: World, step: Arguments): ObjectMeta | undefined {
  return world.pods().find(({ metadata }) => metadata.name === `p${step['pod']}`)?.metadata;
}

async function forPod(
  world: World,
  step: Arguments,
  act: (pod: ObjectMeta) => Promise<number | string>,
): Promise<string> {
  const pod = podOf(world, step);
  return pod === undefined ? 'no such pod' : String(await act(pod));
}

const staticKey = (step: Arguments): string => `${step['static']}/${step['node']}`;

/** What users and their controllers do to pods. */
export const POD_STEPS: StepKinds = {
  'create pod': {
    weight: 8,
    draw: (random) => ({
      pod: random.whole(PODS_PER_HISTORY),
      node: random.whole(NODES_PER_HISTORY),
      sort: random.pick(POD_SORTS),
      namespace: random.whole(4) === 0 ? 1 : 0,
    }),
    perform: async (world, step) => {
      const namespace = world.namespaces[step['namespace'] === 1 ? 1 : 0];
      const node = world.nodeNames[Number(step['node'])] ?? '';
      const body = podObject(step['sort'] as PodSort, `p${step['pod']}`, namespace, node);
      return String(await world.send({ method: 'POST', path: collectionPath(PODS, namespace), body }));
    },
  },
  'delete pod': {
    weight: 3,
    draw: drawPod,
    perform: (world, step) =>
      forPod(world, step, (pod) => world.send({ method: 'DELETE', path: objectPath(PODS, pod) })),
  },
  'let pod not end': {
    weight: 2,
    draw: drawPod,
    perform: (world, step) =>
      forPod(world, step, (metadata) => {
        world.stuck.add(keyOf({ metadata }));
        return Promise.resolve('stuck');
      }),
  },
  'let pods end': {
    weight: 2,
    draw: () => ({}),
    perform: (world) => {
      world.stuck.clear();
      return Promise.resolve('done');
    },
  },
  'finish pod': {
    weight: 1,
    draw: (random, past) => ({ ...drawPod(random, past), phase: random.pick(['Succeeded', 'Failed']) }),
    perform: (world, step) =>
      forPod(world, step, (pod) => {
        const path = objectPath(PODS, pod, 'status');
        return world.send({
          method: 'PATCH',
          path,
          body: { status: { phase: step['phase'] } },
          patch: { kind: 'merge' },
        });
      }),
  },
  'create DaemonSet': {
    weight: 1,
    draw: (random) => ({ set: random.whole(2) }),
    perform: async (world, step) => {
      const priority = step['set'] === 0 ? 'system-node-critical' : 'chaos-lowest';
      const body = daemonSetObject(world, `d${step['set']}`, priority);
      return String(await world.send({ method: 'POST', path: collectionPath(DAEMON_SETS, world.namespaces[0]), body }));
    },
  },
  'delete DaemonSet': {
    weight: 1,
    draw: (random) => ({ set: random.whole(2) }),
    perform: async (world, step) => {
      const path = objectPath(DAEMON_SETS, { name: `d${step['set']}`, namespace: world.namespaces[0] });
      return String(await world.send({ method: 'DELETE', path: `${path}?propagationPolicy=Background` }));
    },
  },
  'add static pod': {
    weight: 1,
    draw: (random) => ({ static: random.whole(2), node: random.whole(NODES_PER_HISTORY) }),
    perform: async (world, step) => {
      const isReal = step['node'] === MACHINE_NODE;
      const outcome = isReal ? await world.machine.addManifest(`s${step['static']}`, world.namespaces[0]) : 'done';
      world.staticPods.add(staticKey(step));
      return outcome;
    },
  },
  'remove static pod': {
    weight: 1,
    draw: (random) => ({ static: random.whole(2), node: random.whole(NODES_PER_HISTORY) }),
    perform: async (world, step) => {
      const isReal = step['node'] === MACHINE_NODE;
      const outcome = isReal ? await world.machine.removeManifest(`s${step['static']}`) : 'done';
      // A manifest that is away stays there: nobody looks for it in the folder of the agent.
      if (!isReal || outcome === 'removed') world.staticPods.delete(staticKey(step));
      return outcome;
    },
  },
};
