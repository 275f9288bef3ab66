/** Judges one step, and states at rest, by the invariants of the chaos test. */
import type { KubeObject } from '../../src/api/meta.ts';
import { isInProgress } from '../../src/decide/maintenance/maintenance.ts';
import { keyOf } from '../../src/kube/resource.ts';
import type { Write } from '../chaos/audit.ts';
import { checkForeign } from '../chaos/invariants/foreign.ts';
import { checkGivenBack, checkLeftOvers } from '../chaos/invariants/given-back.ts';
import { checkLeaving } from '../chaos/invariants/leaving.ts';
import { checkStatus } from '../chaos/invariants/status.ts';
import type { Invariant, Violation } from '../chaos/invariants/violation.ts';
import { unfinished } from '../chaos/phases.ts';
import type { Change } from '../chaos/timeline.ts';
import type { Budget } from '../simulation/api-server/eviction.ts';
import { KINDS, type WorldKind } from './objects.ts';
import type { State } from './state.ts';
import { CONTROLLER, OUTSIDE, type StaticPods, Work, worldOf } from './world.ts';
import type { ControllerMove, Knowledge } from './controller-moves.ts';

/** A violation of an invariant of the chaos test, or of stability: the world never comes to rest. */
export interface Finding extends Omit<Violation, 'invariant'> {
  readonly invariant: Invariant | 'stable';
}

/**
 * The invariants allow a program 2.5 s to see what has changed. Here it has seen what was in its copies when the look began: that
 * was true until just before the step, and pods that it has seen were there for longer.
 */
const [LONG_BEFORE, BEFORE, JUST_BEFORE, STEP] = [0, 1_900, 2_000, 4_000];

/** Writes down a story that ends with the step: the world as it was seen, as it is, and the changes of the step. */
class Story {
  readonly changes: Change[] = [];
  readonly writes: Write[] = [];

  add(kind: WorldKind, object: KubeObject, at: number, more: { deleted?: boolean; author?: string } = {}): void {
    const revision = this.changes.length + 1;
    this.changes.push({ revision, at, kind, key: keyOf(object), object, deleted: more.deleted === true });
    if (more.author === undefined) return;
    const [user, key] = [more.author, keyOf(object)];
    this.writes.push({ user, program: user, verb: 'patch', resource: kind, key, revision, at });
  }
}

function addNode(story: Story, node: KubeObject, author: string | undefined): void {
  const { spec, ...rest } = node as KubeObject & { readonly spec?: { readonly unschedulable?: boolean } };
  if (spec?.unschedulable === true && author !== undefined) {
    const { unschedulable: _, ...open } = spec;
    story.add('Node', { ...rest, spec: open } as KubeObject, JUST_BEFORE, { author: OUTSIDE });
    story.add('Node', node, JUST_BEFORE, { author });
  } else story.add('Node', node, JUST_BEFORE);
}

/** The world as it was seen and as it is, each kind in the order in which the invariants need it. */
function background({ objects, cordonedBy }: State, { copies: seen, told }: Knowledge): Story {
  const story = new Story();
  const known = new Set(seen.Pod.list.map(({ metadata }) => metadata.uid));
  for (const pod of objects.Pod.list) if (known.has(pod.metadata.uid)) story.add('Pod', pod, LONG_BEFORE);
  for (const kind of ['NodeMaintenance', 'EvictionRequest'] as const) {
    for (const object of seen[kind].list) story.add(kind, object, LONG_BEFORE);
  }
  for (const node of seen.Node.list) story.add('Node', node, BEFORE);
  for (const maintenance of told.list) story.add('NodeMaintenance', maintenance, BEFORE);
  for (const node of objects.Node.list) addNode(story, node, cordonedBy[node.metadata.name]);
  for (const pod of objects.Pod.list) if (!known.has(pod.metadata.uid)) story.add('Pod', pod, JUST_BEFORE);
  for (const kind of ['Node', 'NodeMaintenance', 'EvictionRequest'] as const) {
    for (const [key, { object }] of seen[kind].stored) {
      if (!objects[kind].stored.has(key)) story.add(kind, object, JUST_BEFORE, { deleted: true });
    }
    if (kind !== 'Node') for (const object of objects[kind].list) story.add(kind, object, JUST_BEFORE);
  }
  return story;
}

/** Whether the pod in question is on a node that was deleted: the loop of the maintenance may not have looked since. */
function isOfDeletedNode({ objects }: State, { invariant, detail }: Violation): boolean {
  const node = / on (\S+) at revision/.exec(detail)?.[1];
  return invariant === 'covered' && node !== undefined && !objects.Node.stored.has(node);
}

/** What is wrong with a step of the controller. */
export function judgeMove(before: State, { changes, writes, decidedOn }: ControllerMove): readonly Finding[] {
  if (decidedOn === undefined || changes.length === 0) return [];
  const story = background(before, decidedOn);
  const first = story.changes.length;
  const made = changes
    .filter((change): change is typeof change & { kind: WorldKind } =>
      (KINDS as readonly string[]).includes(change.kind),
    )
    .map((change) => ({ ...change, revision: first + change.revision, at: STEP }));
  const whole = [...story.changes, ...made];
  const own = writes.map((write) => ({
    ...write,
    at: STEP,
    revision: write.revision === undefined ? undefined : first + write.revision,
  }));
  const log = [...story.writes, ...own];
  const leaving = checkLeaving(whole, log, [CONTROLLER]).filter((found) => !isOfDeletedNode(before, found));
  return [...leaving, ...checkForeign(whole, log, [CONTROLLER])];
}

/** Whether a budget keeps pods from leaving. */
function isBlocked({ objects }: State): boolean {
  return (objects.PodDisruptionBudget.list as readonly Budget[]).some(
    ({ status }) => (status?.disruptionsAllowed ?? 0) <= 0,
  );
}

/** What is wrong with a state in which nobody has anything to do any more. */
export function judgeRest(state: State, statics: StaticPods, cordonedByPerson: boolean): readonly Finding[] {
  const world = worldOf(state, new Work(state), statics);
  const isOver = world.maintenances().every((maintenance) => !isInProgress(maintenance));
  return [
    ...checkStatus(world),
    ...(isOver ? checkLeftOvers(world, cordonedByPerson) : checkGivenBack(world)),
    ...(isBlocked(state) ? [] : unfinished(world)),
  ];
}
