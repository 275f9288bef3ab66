import { isDeepStrictEqual } from 'node:util';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { effectiveDrainPlan, reachesStaticPods } from '../../decide/drain/plan.ts';
import { resolveDrain } from '../../decide/drain/resolution.ts';
import { effectiveDrains, isEffective, type RetentionFacts } from '../../decide/static-pod/retention.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { type Leave, type ParkedPod, podKey } from '../../decide/static-pod/moves.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { DrainContext } from './context.ts';
import { offlineDeadlineOf, staticDeadlineOf } from './deadline.ts';
import type { AgentRecord } from '../shutdown/record.ts';
import type { StaticPodIntent } from '../static-pods/static-pods.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView } from '../static-pods/view.ts';
import type { Waiting } from '../waiting.ts';

/** What a turn wants of the static pods, whoever drains the node, and how far the drain is. */
export interface Leaving extends Omit<StaticPodIntent, 'keepParked'> {
  /** Whether nothing is left to wait for. */
  readonly drained: boolean;
  /** Why pods are left that nobody can end before the machine goes down; absent where none is. */
  readonly left?: string;
  /** What this agent's own drain waits for, beside the static pods. */
  readonly waiting: readonly Waiting[];
}

/** What the turn has read. */
export interface LeavingFacts {
  readonly record: AgentRecord;
  readonly view: StaticPodView;
  readonly parking: RetentionFacts;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** Makes the targets of a local drain durable, before anybody acts on them. */
  readonly saveTargets: (targets: readonly DrainPlanEntry[]) => Promise<void>;
}

function describeLeft(pods: readonly Manifest[]): string {
  const names = pods.map((pod) => podKey(pod)).join(', ');
  return `the manifests of ${names} cannot be moved, and the kubelet cannot be stopped`;
}

/** A drain from the local record: no API server answers, or there is none. */
async function leaveLocally(
  context: DrainContext,
  phase: Extract<Phase, { kind: 'draining' }>,
  { record, view: all, saveTargets }: LeavingFacts,
  signal: AbortSignal,
): Promise<Leaving> {
  const { config, offlinePods: localDrain, selfDrain: ownDrain, staticPods } = context;
  ownDrain?.stop();
  const stuck = staticPods.stuck();
  const isHopeless = localDrain === undefined || localDrain.hasGivenUp();
  // Manifests that do not move, under a kubelet that cannot be stopped: these pods end with the machine.
  const hopeless = isHopeless ? all.inPlace.filter(({ file }) => stuck.has(file)) : [];
  const view = hopeless.length === 0 ? all : { ...all, inPlace: all.inPlace.filter((pod) => !hopeless.includes(pod)) };
  const local = await localDrain?.observe(signal);
  const pods = [...(local?.pods ?? []), ...drainPodsOf(view)];
  const deadline = offlineDeadlineOf(context, phase, local?.pods ?? [], view);
  const plan = effectiveDrainPlan(config.drainPlan);
  const decision = resolveDrain(plan, pods, record.offlineTargets, deadline?.position);
  if (!isDeepStrictEqual(decision.drainTargets, record.offlineTargets)) await saveTargets(decision.drainTargets);
  const leave = leaveByTargets(view, decision.drainTargets, phase);
  const parked = new Set(view.parked.filter(({ thisBoot }) => thisBoot).map(podKey));
  const hasStuck = view.inPlace.some((pod) => stuck.has(pod.file) && leave.has(podKey(pod)));
  const graces = deadline?.graces ?? new Map<string, number>();
  const stop = { evicting: decision.evicting, parked, graces, hasStuck };
  const waiting = local === undefined ? [] : await localDrain?.stop(local, stop, signal);
  return {
    leave,
    targeted: new Set(leave.keys()),
    mirrors: undefined,
    drained: decision.drained && local?.seen !== false,
    ...(hopeless.length === 0 ? {} : { left: describeLeft(hopeless) }),
    waiting: waiting ?? [],
  };
}

async function leaveByPlan(context: DrainContext, facts: LeavingFacts, signal: AbortSignal): Promise<Leaving> {
  const { record, view, parking, keepParked } = facts;
  const { phase } = record;
  if (phase.kind === 'draining' && phase.mode === 'offline') return await leaveLocally(context, phase, facts, signal);
  const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
  const wish = await context.interceptor?.observe(view, effectiveDrains(parking), wantsMirrors, signal);
  const own = await context.selfDrain?.pass((name) => isEffective(name, parking), drainPodsOf(view), signal);
  const leave = new Map<string, Leave>(wish?.leave);
  const targeted = new Set<string>(wish?.targeted);
  for (const drain of own?.drains ?? []) {
    for (const [key, why] of leaveByTargets(view, drain.drainTargets, drain)) {
      targeted.add(key);
      if (own?.heldStaticPods.has(key) === false) leave.set(key, why);
    }
  }
  const name = phase.kind === 'draining' ? phase.maintenance : undefined;
  const isDrained = (maintenance: string): boolean => {
    if (context.cluster?.isDrained(maintenance) === true || own?.drained.has(maintenance) === true) return true;
    // Static pods whose manifests must not be moved never leave: the machine goes down when all others have.
    const drains = [...effectiveDrains(parking), ...(own?.drains ?? [])].filter(
      (each) => each.maintenance === maintenance,
    );
    return view.refusal !== undefined && drains.some(({ drainTargets }) => reachesStaticPods(drainTargets));
  };
  const drained = name !== undefined && isDrained(name);
  return { leave, targeted, mirrors: wish?.mirrors, drained, waiting: own?.waiting ?? [] };
}

/**
 * Finds out which static pods are to leave now, and lets the other pods leave that this agent has to see to. Those that a
 * deadline leaves no more time leave whoever drains the node.
 */
export async function findLeaving(context: DrainContext, facts: LeavingFacts, signal: AbortSignal): Promise<Leaving> {
  const leaving = await leaveByPlan(context, facts, signal);
  const { phase } = facts.record;
  const deadline = staticDeadlineOf(context, phase, facts.view);
  if (deadline === undefined || phase.kind !== 'draining') return leaving;
  const due = leaveByTargets(facts.view, deadline.due, phase);
  return {
    ...leaving,
    leave: new Map([...leaving.leave, ...due]),
    targeted: new Set([...leaving.targeted, ...due.keys()]),
    graces: deadline.graces,
  };
}
