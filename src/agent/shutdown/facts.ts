import { randomInt } from 'node:crypto';
import type { AgentConfig } from '../../config/schema.ts';
import { shutdownNames } from '../../decide/maintenance/agent-names.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isNamed, type Phase, type PhaseFacts } from '../../decide/shutdown/phase.ts';
import { standOf } from '../../decide/shutdown/take-over.ts';
import type { Clock } from '../../host/clock.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { ProgressObserver } from '../drain/take-over.ts';
import type { StaticPodPass } from '../drain/pod-pass.ts';
import type { Notices } from '../notices/notices.ts';
import type { StaticPods } from '../static-pods/static-pods.ts';
import type { ShutdownDetector } from './detector.ts';

/** What the facts are read from. */
export interface PhaseFactParts {
  readonly nodeName: string;
  readonly bootId: string;
  readonly config: Pick<AgentConfig, 'apiWaitSec' | 'progressWaitSec' | 'maxHoldSec'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly detector: Pick<ShutdownDetector, 'read'>;
  readonly notices: Pick<Notices, 'addTo'>;
  readonly staticPods: Pick<StaticPods, 'stuck'>;
  readonly drain: { readonly observer: Pick<ProgressObserver, 'stall'> | undefined };
  /** Undefined where no cluster is configured. */
  readonly cluster:
    | {
        readonly own: Pick<OwnMaintenances, 'state' | 'isFree' | 'own'>;
        readonly ownNode: Pick<OwnNode, 'observe'>;
        readonly maintenances: Pick<NodeMaintenances, 'get'>;
      }
    | undefined;
}

/** What earlier iterations have come to. */
interface KnownFacts extends Pick<PhaseFacts, 'askedSinceBootMs' | 'handedOver' | 'handingOver' | 'waitingFor'> {
  /** The last pass over the pods. */
  readonly lastPass: StaticPodPass | undefined;
}

/** While the node drains, its Node object is read this often. */
const NODE_EVERY_MS = 15_000;

/** The name of the NodeMaintenance; undefined while no shutdown is known. */
function nameOf(phase: Phase): string | undefined {
  return phase.kind === 'watching' ? undefined : phase.maintenance;
}

/** A name for another NodeMaintenance: none that this phase uses, or under which a manifest is parked. */
function freeNameOf(
  { nodeName, cluster }: PhaseFactParts,
  lastPass: StaticPodPass | undefined,
  phase: Phase,
): string | undefined {
  const parked = lastPass?.view.parked ?? [];
  const inUse = new Set([...parked.map(({ maintenance }) => maintenance), nameOf(phase)]);
  const names = shutdownNames(nodeName).filter((each) => !inUse.has(each) && cluster?.own.isFree(each) !== false);
  return names[randomInt(Math.max(1, names.length))];
}

/** Whether the pass shows nothing that the phase has to put back. */
function isRecovered(phase: Phase, { view, keptByOthers }: StaticPodPass): boolean {
  return !view.parked.some(
    ({ file, maintenance }) =>
      !keptByOthers.has(file) && (maintenance === '' || (phase.kind !== 'watching' && isNamed(phase, maintenance))),
  );
}

/** Whether the cluster has nothing of a shutdown that was called off any more. */
function isWithdrawn(phase: Phase, { cluster }: PhaseFactParts): boolean {
  if (phase.kind !== 'recovering' || phase.cause !== 'canceled' || cluster === undefined) return true;
  if (cluster.own.state(phase.maintenance) === 'open') return false;
  return cluster.own.own().every((each) => !isNamed(phase, each.metadata.name) || stageOf(each) === 'Complete');
}

/** Whether the pass lets the next decision move the phase in which it was made. */
export function endsPhase(pass: StaticPodPass): boolean {
  if (pass.phase.kind === 'draining') return pass.drained;
  // One that was called off waits for the cluster and for logind too, which tell in their own time.
  return pass.phase.kind === 'recovering' && pass.phase.cause === 'boot' && isRecovered(pass.phase, pass);
}

/**
 * What is known of the logind that prepares the shutdown. Nothing after a boot, where another one may have the same process ID,
 * nor once the lock is released, when it is too late to call anything off.
 */
function heldOf(phase: Phase, bootId: string): Parameters<ShutdownDetector['read']>[0] {
  return phase.kind === 'watching' || phase.kind === 'released' || phase.bootId !== bootId ? {} : phase;
}

/** For how long the API server has said that the node has no Node object, in milliseconds; asked while the cluster drains it. */
async function nodeGoneMs({ cluster }: PhaseFactParts, phase: Phase, signal: AbortSignal): Promise<number> {
  if (phase.kind !== 'draining' || phase.mode !== 'cluster') return 0;
  const node = await cluster?.ownNode.observe(NODE_EVERY_MS, signal);
  return node?.kind === 'absent' ? node.forMs : 0;
}

/** Reads the facts that decide the phase, from the machine, the cluster and what earlier iterations have come to. */
export async function readPhaseFacts(
  parts: PhaseFactParts,
  { lastPass, ...known }: KnownFacts,
  phase: Phase,
  signal: AbortSignal,
): Promise<Omit<PhaseFacts, 'release'>> {
  const { bootId, clock, cluster, config, detector, notices, nodeName } = parts;
  const { apiWaitSec, progressWaitSec, maxHoldSec } = config;
  const goingDown = notices.addTo(await detector.read(heldOf(phase, bootId), signal), phase);
  const name = nameOf(phase);
  // A pass of another phase says nothing: its view may be older than what this phase has to put back.
  const current = lastPass?.phase === phase ? lastPass : undefined;
  return {
    ...known,
    now: clock.now(),
    sinceBootMs: clock.monotonic(),
    bootId,
    nodeName,
    goingDown,
    clusterConfigured: cluster !== undefined,
    apiWaitMs: apiWaitSec * 1000,
    maxHoldMs: maxHoldSec === undefined ? undefined : maxHoldSec * 1000,
    maintenance: (name === undefined ? undefined : cluster?.own.state(name)) ?? 'absent',
    freeName: freeNameOf(parts, lastPass, phase),
    progressWaitMs: progressWaitSec * 1000,
    stall: parts.drain.observer?.stall(),
    stand: standOf(cluster?.maintenances.get(name ?? ''), nodeName),
    nodeGoneMs: await nodeGoneMs(parts, phase, signal),
    drained: current?.drained === true,
    left: current?.left,
    endsAlone: current?.endsAlone,
    running: current?.running,
    manifestsStuck: parts.staticPods.stuck().size > 0,
    recovered: current !== undefined && isRecovered(phase, current) && isWithdrawn(phase, parts),
  };
}
