import type { NodeSelector } from '../../../src/api/meta.ts';
import { COMPLETION_FINALIZER, FORCE_ANNOTATION } from '../../../src/api/names.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import type { Arguments, Past, StepKinds } from '../history.ts';
import { FOREIGN_FINALIZER } from '../objects.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';

const MAINTENANCES = 4;

/** Which nodes a maintenance selects. */
const SELECTORS: Readonly<Record<string, (world: World) => NodeSelector>> = {
  'node 0': ({ nodeNames }) => byName(nodeNames[0] ?? ''),
  'nodes 0 and 1': ({ nodeNames }) => byName(...nodeNames.slice(0, 2)),
  'node 2': ({ nodeNames }) => byName(nodeNames[2] ?? ''),
  labelled: ({ label }) => ({ nodeSelectorTerms: [{ matchExpressions: [{ key: label, operator: 'Exists' }] }] }),
  'all, labelled or not': ({ id, label }) => ({
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'chaos.example/history', operator: 'In', values: [id] }] },
      { matchExpressions: [{ key: label, operator: 'In', values: ['on'] }] },
    ],
  }),
};

const PLANS: Readonly<Record<string, readonly DrainPlanEntry[]>> = {
  default: [],
  selective: [
    { podType: 'Default', podPriority: -5, podSelector: { matchLabels: { pod: 'p0' } } },
    { podType: 'Default', podPriority: 0 },
    {
      podType: 'Default',
      podPriority: 100,
      podSelector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
    },
    { podType: 'DaemonSet', podPriority: 0 },
  ],
};

const drawMaintenance = (random: Random, past: Past): Arguments => ({ maintenance: random.pick(past.maintenances) });

function maintenanceFor(world: World, step: Arguments): NodeMaintenance | undefined {
  const name = `${world.id}-m${step['maintenance']}`;
  return world.maintenances().find(({ metadata }) => metadata.name === name);
}

async function patchMaintenance(
  world: World,
  step: Arguments,
  bodyOf: (maintenance: NodeMaintenance) => object,
): Promise<string> {
  const maintenance = maintenanceFor(world, step);
  if (maintenance === undefined) return 'no such maintenance';
  const path = objectPath(NODE_MAINTENANCES, maintenance.metadata);
  const body = bodyOf(maintenance);
  return String(await world.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } }));
}

/** The body of a patch that replaces the finalizers of the object as it is now, and of no later one. */
export function finalizersBody({ metadata }: NodeMaintenance, finalizers: readonly string[]): object {
  return { metadata: { finalizers, resourceVersion: metadata.resourceVersion } };
}

/** What operators do to maintenances. */
export const MAINTENANCE_STEPS: StepKinds = {
  'create maintenance': {
    weight: 10,
    draw: (random) => ({
      maintenance: random.whole(MAINTENANCES),
      selector: random.pick(['node 0', 'nodes 0 and 1', 'node 2', 'labelled', 'labelled', 'all, labelled or not']),
      stage: random.pick(['Idle', 'Cordon', 'Drain', 'Drain', 'Drain']),
      plan: random.pick(['default', 'default', 'selective']),
    }),
    perform: async (world, step) => {
      const nodeSelector = SELECTORS[String(step['selector'])]?.(world);
      const drainPlan = PLANS[String(step['plan'])];
      const spec = { nodeSelector, stage: step['stage'], reason: 'chaos', drainPlan };
      const body = maintenanceOf(spec, { name: `${world.id}-m${step['maintenance']}` });
      return String(await world.send({ method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }));
    },
  },
  'set stage': {
    weight: 8,
    draw: (random, past) => ({
      ...drawMaintenance(random, past),
      stage: random.pick(['Cordon', 'Drain', 'Drain', 'Complete']),
    }),
    perform: (world, step) => patchMaintenance(world, step, () => ({ spec: { stage: step['stage'] } })),
  },
  'delete maintenance': {
    weight: 4,
    draw: drawMaintenance,
    perform: async (world, step) => {
      const path = objectPath(NODE_MAINTENANCES, { name: `${world.id}-m${step['maintenance']}` });
      return String(await world.send({ method: 'DELETE', path }));
    },
  },
  'force maintenance': {
    weight: 1,
    draw: drawMaintenance,
    perform: (world, step) =>
      patchMaintenance(world, step, () => ({ metadata: { annotations: { [FORCE_ANNOTATION]: 'true' } } })),
  },
  'strip finalizer': {
    weight: 1,
    draw: drawMaintenance,
    perform: (world, step) =>
      patchMaintenance(world, step, (maintenance) => {
        const { finalizers = [] } = maintenance.metadata;
        return finalizersBody(
          maintenance,
          finalizers.filter((each) => each !== COMPLETION_FINALIZER),
        );
      }),
  },
  'add foreign finalizer': {
    weight: 2,
    draw: drawMaintenance,
    perform: (world, step) =>
      patchMaintenance(world, step, (maintenance) =>
        finalizersBody(maintenance, [...(maintenance.metadata.finalizers ?? []), FOREIGN_FINALIZER]),
      ),
  },
};
