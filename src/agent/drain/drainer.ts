import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import { decideStaticDeadline } from '../../decide/deadline/static-pods.ts';
import type { DrainEnd, KnownManifests } from '../../decide/staying-pod/left-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { type ParkedPod, podKey } from '../../decide/static-pod/moves.ts';
import type { RetentionFacts } from '../../decide/static-pod/parked.ts';
import type { AgentRecord } from '../phase/record.ts';
import type { StaticPodIntent } from '../static-pods/static-pods.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import { drainPodsOf, isRunning, leaveByTargets, type StaticPodView } from '../static-pods/view.ts';
import type { Waiting } from '../../decide/node/waits.ts';

/** What the caller of a pass has read. */
export interface PassFacts {
  readonly record: Pick<AgentRecord, 'phase' | 'offlineTargets'>;
  readonly view: StaticPodView;
  /** The static pods, in place or parked, that carry the node's way to the API server; absent for none. */
  readonly carriers?: readonly Manifest[];
  readonly retention: RetentionFacts;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** Writes the targets of an offline drain to disk, before anything is done by them. */
  readonly saveTargets: (targets: readonly DrainPlanEntry[]) => Promise<void>;
}

/** What a drainer goes by; where it drains with the API server, `carriers` are not in place in the view. */
export interface DrainerFacts extends PassFacts {
  /** The maintenances of this node that are in progress and in effect; none while the API server has not told. */
  readonly maintenances: readonly NodeMaintenance[];
}

/** What one pass of a drain came to. */
export interface DrainPass extends Omit<StaticPodIntent, 'keepParked'>, DrainEnd {
  /** What a drain by this agent waits for, beside the static pods. */
  readonly waiting: readonly Waiting[];
  /** What keeps the pass from going on with the API server, as a sentence without its end; absent where nothing does. */
  readonly stalled?: string | undefined;
  /** Whether this agent drains the node in the place of a controller, and waits for no turn. */
  readonly isBegun?: boolean;
  /** What the container runtime still runs after somebody has completed the NodeMaintenance; absent where that is not known. */
  readonly running?: readonly string[];
  /** Since when the machine goes down, where the cluster has said when its drain began: not while it waits for its turn. */
  readonly downSince?: number | undefined;
  /** Whether volumes are waited for, after all pods that use some; absent where none are. */
  readonly awaitsVolumes?: boolean;
}

/** Lets the pods of this node leave. One of three is chosen in each pass. */
export interface Drainer {
  /** One pass: lets the other pods leave and returns which static pods leave. What can be tried again never throws. */
  pass(facts: DrainerFacts, signal: AbortSignal): Promise<DrainPass>;
}

/** A pass that lets nothing leave. */
export const EMPTY_PASS: DrainPass = {
  leave: new Map(),
  targeted: new Set(),
  mirrors: undefined,
  drained: false,
  waiting: [],
};

/** The name of this shutdown's maintenance while the node drains for it. */
export function drainedFor(phase: Phase): string | undefined {
  return phase.kind === 'draining' ? phase.maintenance : undefined;
}

/** The static pods of the view that have a manifest here, and why none may be moved. */
export function manifestsOf(view: StaticPodView): KnownManifests {
  const { inPlace, parked, refusal } = view;
  const running = [...inPlace, ...parked.filter((pod) => isRunning(pod, view))].map(podKey);
  const ends = new Map<string, number | undefined>([
    ...parked.map((pod) => [podKey(pod), pod.parkedAt + pod.graceSec * 1000] as const),
    ...inPlace.map((pod) => [podKey(pod), undefined] as const),
  ]);
  return { ends, running: new Set(running), ...(refusal === undefined ? {} : { refusal }) };
}

/** Where all else has left a machine that goes down, and that was reported, what carries the way to the API server leaves too. */
export function withLast(pass: DrainPass, { record: { phase }, view, carriers = [] }: PassFacts): DrainPass {
  const last = carriers.filter((pod) => view.inPlace.includes(pod));
  if (!pass.drained || phase.kind !== 'draining' || last.length === 0) return pass;
  const { left: _, ...open } = pass;
  const leave = new Map([...pass.leave, ...last.map((pod) => [podKey(pod), phase] as const)]);
  return { ...open, drained: false, leave, targeted: new Set([...pass.targeted, ...leave.keys()]) };
}

/** Adds the static pods that leave by the deadline of the shutdown, with the grace periods that it leaves them. */
export function withDeadline(
  pass: DrainPass,
  { record: { phase }, view }: PassFacts,
  drainPlan: readonly DrainPlanEntry[],
  now: number,
): DrainPass {
  if (phase.kind !== 'draining' || phase.deadline === undefined) return pass;
  const deadline = decideStaticDeadline(phase.deadline, drainPodsOf(view), drainPlan, now);
  const due = leaveByTargets(view, deadline.due, phase);
  return {
    ...pass,
    leave: new Map([...due, ...pass.leave]),
    targeted: new Set([...pass.targeted, ...due.keys()]),
    graces: deadline.graces,
  };
}
