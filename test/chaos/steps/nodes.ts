import { NODES, objectPath } from '../../../src/kube/resource.ts';
import type { Arguments, StepKinds } from '../history.ts';
import type { Random } from '../random.ts';
import { nodeObject, REFUSED_LABEL } from '../objects.ts';
import { NODES_PER_HISTORY, type World } from '../world.ts';

const drawNode = (random: Random): Arguments => ({ node: random.whole(NODES_PER_HISTORY) });

function nameOf(world: World, step: Arguments): string {
  return world.nodeNames[Number(step['node'])] ?? world.nodeNames[0] ?? '';
}

async function patchNode(world: World, step: Arguments, body: object, subresource?: string): Promise<string> {
  const path = objectPath(NODES, { name: nameOf(world, step) }, subresource);
  return String(await world.send({ method: 'PATCH', path, body, patch: { kind: 'strategic' } }));
}

/** A condition of somebody else's; two of the types are among those that the product writes too. */
const FOREIGN_CONDITIONS = ['Drained', 'MaintenanceInProgress', 'KernelDeadlock'] as const;

/** What people, autoscalers and other programs do to nodes. */
export const NODE_STEPS: StepKinds = {
  'label node': {
    weight: 6,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { metadata: { labels: { [world.label]: 'on' } } }),
  },
  'unlabel node': {
    weight: 4,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { metadata: { labels: { [world.label]: null } } }),
  },
  'delete node': {
    weight: 2,
    draw: drawNode,
    perform: async (world, step) => {
      const path = objectPath(NODES, { name: nameOf(world, step) });
      return String(await world.send({ method: 'DELETE', path }));
    },
  },
  'register node': {
    weight: 3,
    draw: drawNode,
    perform: async (world, step) => {
      const body = nodeObject(world, nameOf(world, step));
      return String(await world.send({ method: 'POST', path: '/api/v1/nodes', body }));
    },
  },
  'cordon node': {
    weight: 1,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { spec: { unschedulable: true } }),
  },
  'uncordon node': {
    weight: 1,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { spec: { unschedulable: null } }),
  },
  'set foreign condition': {
    weight: 1,
    draw: (random) => ({ ...drawNode(random), type: random.pick(FOREIGN_CONDITIONS) }),
    perform: (world, step) => {
      const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const times = { lastHeartbeatTime: now, lastTransitionTime: now };
      const condition = { type: step['type'], status: 'True', reason: 'Foreign', message: 'not the product', ...times };
      return patchNode(world, step, { status: { conditions: [condition] } }, 'status');
    },
  },
  'refuse changes of node': {
    weight: 1,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { metadata: { labels: { [REFUSED_LABEL]: 'on' } } }),
  },
  'accept changes of node': {
    weight: 1,
    draw: drawNode,
    perform: (world, step) => patchNode(world, step, { metadata: { labels: { [REFUSED_LABEL]: null } } }),
  },
};
