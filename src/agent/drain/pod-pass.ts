import type { Phase } from '../../decide/shutdown/phase.ts';
import type { StaticPodDecision } from '../../decide/static-pod/moves.ts';
import { isKeptByOthers, keepsParked } from '../../decide/static-pod/parked.ts';
import type { DrainStep } from './drain.ts';
import type { DrainPass, PassFacts } from './drainer.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import type { LostApiServer } from '../static-pods/lost-api-server.ts';
import type { ManualRequests } from '../static-pods/manual-requests.ts';
import type { MemberWatch } from '../static-pods/control-plane-waits.ts';
import type { StaticPodIntent, StaticPods } from '../static-pods/static-pods.ts';
import type { UnrecordedMaintenances } from '../static-pods/unrecorded-maintenances.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { StaticPodView } from '../static-pods/view.ts';

/** What one pass over the pods of this node saw and did. */
export interface StaticPodPass extends Pick<DrainPass, 'waiting' | 'drained' | 'left' | 'endsAlone' | 'running'> {
  /** The phase in which the pass was made. */
  readonly phase: Phase;
  readonly view: StaticPodView;
  /** The static pods that carry the node's way to the API server. */
  readonly carriers: readonly Manifest[];
  readonly decision: StaticPodDecision;
  /** Files of manifests that were parked for the shutdown and stay parked after it, for another drain. */
  readonly keptByOthers: ReadonlySet<string>;
  /** Maintenances that keep manifests parked although their status does not record this node, which no event tells of. */
  readonly unrecorded: ReadonlySet<string>;
}

/** What a pass is made with. */
interface PassParts {
  readonly staticPods: Pick<StaticPods, 'observe' | 'decide' | 'act'>;
  readonly member?: Pick<MemberWatch, 'look'>;
  readonly manual: Pick<ManualRequests, 'isWanted' | 'settle' | 'withParks'>;
  /** Lets the other pods of the node leave, and says which static pods are to leave. */
  readonly drain: Pick<DrainStep, 'pass'>;
  /** Undefined where no cluster is configured. */
  readonly cluster:
    | {
        readonly unrecorded: Pick<UnrecordedMaintenances, 'find'>;
        readonly interceptor: Pick<KubeletInterceptor, 'report'>;
        readonly lostWay: Pick<LostApiServer, 'look' | 'carriers'>;
      }
    | undefined;
}

function filesOf(pods: readonly { readonly file: string }[]): ReadonlySet<string> {
  return new Set(pods.map(({ file }) => file));
}

/**
 * Makes one pass: observes the static pods, lets pods leave, and moves manifests. Its parts depend on each other, so a part
 * that fails ends the pass: what was not observed cannot be decided, and without the drain's answer nothing says which pods
 * may leave or come back.
 */
export async function passOverPods(
  { staticPods, member, manual, drain, cluster }: PassParts,
  { record, retention: known, saveTargets }: Pick<PassFacts, 'record' | 'retention' | 'saveTargets'>,
  signal: AbortSignal,
): Promise<StaticPodPass> {
  const { phase } = record;
  const view = await staticPods.observe(signal);
  const unrecorded = (await cluster?.unrecorded.find(view, known, signal)) ?? new Set<string>();
  const retention = { ...known, unrecorded };
  const way = await cluster?.lostWay.look(phase, view, signal);
  const wanted = view.parked.filter((pod) => manual.isWanted(pod) || way?.has(pod.file) === true);
  const kept = filesOf(view.parked.filter((pod) => keepsParked(pod, retention) && !wanted.includes(pod)));
  const keptByOthers = filesOf(view.parked.filter((pod) => kept.has(pod.file) && isKeptByOthers(pod, retention)));
  const keepParked: StaticPodIntent['keepParked'] = ({ file }) => kept.has(file);
  const carriers = (await cluster?.lostWay.carriers(view, signal)) ?? [];
  const leaving = await drain.pass({ record, view, carriers, retention, keepParked, saveTargets }, signal);
  manual.settle(view);
  // Nothing more leaves before the API server has said that it still has to.
  const leave = manual.withParks(view, way === undefined ? leaving.leave : new Map());
  const shutdown = phase.kind === 'draining' ? phase.maintenance : undefined;
  const holds = (await member?.look(view, { ...leaving, leave, keepParked }, phase, signal)) ?? new Map();
  const decision = await staticPods.decide(view, { ...leaving, leave, keepParked, shutdown, holds }, signal);
  // Before any manifest is moved: the API server may be one of the pods that leave.
  await cluster?.interceptor.report(view, decision.progress, signal);
  await staticPods.act(view, decision, shutdown, signal);
  return { ...leaving, phase, view, carriers, decision, keptByOthers, unrecorded };
}
