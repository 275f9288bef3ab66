/** Random changes of a NodeMaintenance, and which of them the rules of the API allow. */
import type { NodeMaintenance, NodeMaintenanceSpec, Stage } from '../../../src/api/node-maintenance.ts';
import { effectiveDrainPlan } from '../../../src/decide/maintenance/drain-plan.ts';
import { NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import { part, schemaOf } from '../../fuzz/schema.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import { drawFitting } from '../schema/fitting.ts';
import { drawOutside } from '../schema/outside.ts';
import type { Json, Schema } from '../schema/schema.ts';
import { TARGET } from './scene.ts';
import type { Sequence, Step } from './sequence.ts';

const STAGES = ['Idle', 'Cordon', 'Drain', 'Complete'] as const;
const CHANGES = 7;
/** An interceptor that is silent is passed over after 20 minutes, and what is finished is deleted. */
const REST_MS = 60 * 60_000;
/** Beside the default entries. */
const ENTRIES = 3;
const SPEC = part(schemaOf('nodemaintenance'), 'spec') as Schema;

type Spec = NodeMaintenanceSpec & { readonly stage: Stage };

/** Where the sequence is. */
interface At {
  readonly spec: Spec;
  readonly labels: Readonly<Record<string, string | null>>;
}

/** A field of the spec as the schema has it, or null, which takes it away. */
function drawField(name: 'reason' | 'keepPods', random: Random): unknown {
  return random.whole(4) === 0 ? null : drawFitting(SPEC.properties?.[name] ?? {}, random);
}

/** A plan with the default entries, in the order of the rules; undefined for none of its own. */
function drawPlan(random: Random): Spec['drainPlan'] {
  if (random.whole(2) === 0) return undefined;
  const { podPriority = {}, podType = {} } = SPEC.properties?.['drainPlan']?.items?.properties ?? {};
  const entry = (): object => ({
    podType: drawFitting(podType, random),
    podPriority: drawFitting(podPriority, random),
    ...(random.whole(2) === 0 && { podSelector: { matchLabels: { app: random.pick(['chaos', 'other']) } } }),
  });
  const drawn = Array.from({ length: 1 + random.whole(ENTRIES) }, entry);
  return effectiveDrainPlan(drawn as unknown as NonNullable<Spec['drainPlan']>);
}

function without(spec: object): Spec {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => value !== null && value !== undefined),
  ) as unknown as Spec;
}

function drawSpec(node: string, random: Random): Spec {
  return without({
    nodeSelector: byName(node),
    stage: random.pick(['Idle', 'Idle', 'Cordon', 'Drain']),
    drainPlan: drawPlan(random),
    reason: drawField('reason', random),
    keepPods: drawField('keepPods', random),
  });
}

/** Whether the rules allow the spec to become the other one. */
function isAllowed(before: Spec, after: Spec): boolean {
  if (STAGES.indexOf(after.stage) < STAGES.indexOf(before.stage)) return false;
  if (JSON.stringify(before.nodeSelector) !== JSON.stringify(after.nodeSelector)) return false;
  // A plan that is taken away becomes the default one again.
  const plan = ({ drainPlan = [] }: Spec): string => JSON.stringify(effectiveDrainPlan(drainPlan));
  if (plan(before) !== plan(after)) return false;
  // A set: the API server takes its entries in another order. An empty one is another one than none.
  const kept = ({ keepPods }: Spec): string | undefined => keepPods?.toSorted().join();
  return kept(before) === kept(after) || STAGES.indexOf(before.stage) < STAGES.indexOf('Drain');
}

/** What a merge patch of the spec makes of it; the plan and the selector have the default entries already. */
function drawPatch({ spec }: At, node: string, random: Random): Json {
  switch (random.whole(8)) {
    case 0:
      return { reason: drawField('reason', random) };
    case 1:
    case 2:
      return { keepPods: drawField('keepPods', random) };
    case 3:
      return { nodeSelector: byName(`${node}-other`) };
    case 4: {
      const drainPlan = effectiveDrainPlan([{ podType: 'Default', podPriority: random.whole(1_000) }]);
      return { drainPlan: spec.drainPlan !== undefined && random.whole(2) === 0 ? null : drainPlan };
    }
    case 5:
      return { stage: random.pick(STAGES), keepPods: drawField('keepPods', random) };
    default:
      return { stage: random.pick(STAGES) };
  }
}

function drawLabels(random: Random): At['labels'] {
  return { 'differential.example/one': random.pick(['a', 'b', null]), app: random.pick(['web', null]) };
}

/** What the object is when it is made. */
function objectOf(name: string, { spec, labels }: At): NodeMaintenance {
  return maintenanceOf(spec as unknown as Json, {
    name,
    labels: Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== null)),
  });
}

/** Draws the next change of the object. */
function drawStep(at: At, node: string, random: Random): { readonly step: Step; readonly next: At } {
  const kind = random.whole(8);
  if (kind === 0) {
    const labels = drawLabels(random);
    return {
      step: { what: 'labels', patch: { metadata: { labels } }, isAllowed: true },
      next: { ...at, labels: { ...at.labels, ...labels } },
    };
  }
  if (kind <= 2) {
    const bad = drawOutside(
      SPEC,
      at.spec,
      { unknownKeys: false, isLeft: ([key]) => key === 'nodeSelector' || key === 'drainPlan' },
      random,
    );
    const what = `${bad.rule} of spec.${bad.path.join('.')}`;
    // A merge patch that leaves a key out does not take it away.
    const spec = bad.rule === 'required' ? { [String(bad.path[0])]: null } : bad.value;
    return { step: { what, patch: { spec }, isAllowed: false }, next: at };
  }
  if (kind === 3 && at.spec.stage !== 'Drain' && at.spec.stage !== 'Complete') {
    const next = { spec: drawSpec(node, random), labels: {} };
    return { step: { what: 'made anew', anew: next, isAllowed: true }, next };
  }
  const patch = drawPatch(at, node, random);
  const after = without({ ...at.spec, ...patch });
  const isOk = isAllowed(at.spec, after);
  const afterRest = isOk && after.stage === 'Complete';
  const step = { what: JSON.stringify(patch).slice(0, 200), patch: { spec: patch }, isAllowed: isOk, afterRest };
  return { step, next: isOk ? { ...at, spec: after } : at };
}

/**
 * Draws a sequence of changes of a maintenance of this node. The last object alone is made in the stage before Complete, and then
 * completed: what a complete one has reached is how far it had come before.
 */
export function drawMaintenance({ id, nodeNames }: Pick<ClusterPart, 'id' | 'nodeNames'>, random: Random): Sequence {
  const node = nodeNames[TARGET] ?? '';
  const first: At = { spec: drawSpec(node, random), labels: {} };
  let at = first;
  let before = first;
  const steps: Step[] = [];
  for (let count = 0; count < CHANGES; count += 1) {
    const { step, next } = drawStep(at, node, random);
    steps.push(step);
    if (next.spec.stage !== 'Complete') before = next;
    at = next;
  }
  const isComplete = at.spec.stage === 'Complete';
  const { nodeSelector: _, drainPlan: _plan, ...changed } = at.spec;
  const completed = {
    what: 'completed',
    patch: { spec: { reason: null, keepPods: null, ...changed } },
    isAllowed: true,
    afterRest: true,
  };
  const alone: readonly Step[] = isComplete ? [completed] : [];
  const began = isComplete ? { ...before, labels: at.labels } : at;
  return {
    first,
    steps,
    last: { first: began, steps: alone },
    resource: NODE_MAINTENANCES,
    restMs: REST_MS,
    nameOf: () => `${id}-one`,
    bodyOf: (each) => objectOf(`${id}-one`, each as At),
  };
}
