import type { Phase } from '../../decide/shutdown/phase.ts';
import type { StaticPodDecision } from '../../decide/static-pod/moves.ts';
import { isKeptByOthers, keepsParked, type RetentionFacts } from '../../decide/static-pod/parked.ts';
import type { DrainPass, PassFacts } from './drainer.ts';
import type { PhaseMachine } from '../phase/phase-machine.ts';
import type { Waiting } from '../iteration/waited-for.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import type { ManualRequests } from '../static-pods/manual.ts';
import type { StaticPodIntent, StaticPods } from '../static-pods/static-pods.ts';
import type { UnrecordedMaintenances } from '../static-pods/unlisted-maintenances.ts';
import type { StaticPodView } from '../static-pods/view.ts';

/** What one pass over the pods of this node saw and did. */
export interface StaticPodPass {
  /** The phase in which the pass was made. */
  readonly phase: Phase;
  readonly view: StaticPodView;
  readonly decision: StaticPodDecision;
  /** Files of manifests that were parked for the shutdown and stay parked after it, for another drain. */
  readonly keptByOthers: ReadonlySet<string>;
  /** Maintenances that keep manifests parked although their status does not record this node, which no event tells of. */
  readonly unrecorded: ReadonlySet<string>;
  /** Other pods that a drain by this agent waits for. */
  readonly waiting: readonly Waiting[];
  /** Whether the drain has nothing left to wait for. */
  readonly drained: boolean;
  /** Why pods are left that this agent cannot end before the machine goes down; absent where none is. */
  readonly left?: string;
  /** What the container runtime still runs after somebody has completed the NodeMaintenance; absent where that is not known. */
  readonly running?: readonly string[];
}

interface StaticPodPassDependencies {
  readonly staticPods: Pick<StaticPods, 'observe' | 'decide' | 'act'>;
  readonly manual: Pick<ManualRequests, 'isWanted' | 'settle' | 'withParks'>;
  readonly retentionFacts: (phase: Phase) => RetentionFacts;
  /** Lets the other pods of the node leave, and returns which static pods are to leave. */
  readonly drain: (facts: PassFacts, signal: AbortSignal) => Promise<DrainPass>;
  /** Undefined where no cluster is configured; so is the interceptor. */
  readonly unrecorded: UnrecordedMaintenances | undefined;
  readonly interceptor: Pick<KubeletInterceptor, 'report'> | undefined;
}

/** The record that a pass goes by, and where it keeps the targets of an offline drain. */
export type PassPhases = Pick<PhaseMachine, 'record' | 'saveTargets'>;

function filesOf(pods: readonly { readonly file: string }[]): ReadonlySet<string> {
  return new Set(pods.map(({ file }) => file));
}

/**
 * Makes one pass: observes the static pods, lets pods leave, and moves manifests. Its parts depend on each other, so a part
 * that fails ends the pass: what was not observed cannot be decided, and without the drain's answer nothing says which pods
 * may leave or come back.
 */
async function passOverPods(
  dependencies: StaticPodPassDependencies,
  phases: PassPhases,
  signal: AbortSignal,
): Promise<StaticPodPass> {
  const { staticPods, manual } = dependencies;
  const record = phases.record();
  const { phase } = record;
  const view = await staticPods.observe(signal);
  const facts = dependencies.retentionFacts(phase);
  const unrecorded = (await dependencies.unrecorded?.find(view, facts, signal)) ?? new Set<string>();
  const retention = { ...facts, unrecorded };
  const kept = filesOf(view.parked.filter((pod) => keepsParked(pod, retention) && !manual.isWanted(pod)));
  const keptByOthers = filesOf(view.parked.filter((pod) => kept.has(pod.file) && isKeptByOthers(pod, retention)));
  const keepParked: StaticPodIntent['keepParked'] = ({ file }) => kept.has(file);
  const leaving = await dependencies.drain(
    { record, view, retention, keepParked, saveTargets: phases.saveTargets },
    signal,
  );
  manual.settle(view);
  const leave = manual.withParks(view, leaving.leave);
  const shutdown = phase.kind === 'draining' ? phase.maintenance : undefined;
  const decision = await staticPods.decide(view, { ...leaving, leave, keepParked, shutdown }, signal);
  // Before any manifest is moved: the API server may be one of the pods that leave.
  await dependencies.interceptor?.report(view, decision.progress, signal);
  await staticPods.act(view, decision, shutdown, signal);
  const { drained, left, running, waiting } = leaving;
  const rest = { ...(left === undefined ? {} : { left }), ...(running === undefined ? {} : { running }) };
  return { phase, view, decision, keptByOthers, unrecorded, waiting, drained, ...rest };
}

/** The passes over the pods of this node; the last one stands until another one succeeds. */
export interface StaticPodPasses {
  readonly run: (phases: PassPhases, signal: AbortSignal) => Promise<void>;
  /** Undefined before the first pass. */
  readonly last: () => StaticPodPass | undefined;
}

/** No pass is made before `run`. */
export function createStaticPodPasses(dependencies: StaticPodPassDependencies): StaticPodPasses {
  let last: StaticPodPass | undefined;
  return {
    run: async (phases, signal) => {
      last = await passOverPods(dependencies, phases, signal);
    },
    last: () => last,
  };
}
