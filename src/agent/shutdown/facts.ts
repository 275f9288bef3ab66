import { randomInt } from 'node:crypto';
import { shutdownNames } from '../../decide/maintenance/agent-names.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isNamed, type Phase, type PhaseFacts } from '../../decide/shutdown/phase.ts';
import type { Stall, Stand } from '../../decide/wait/progress.ts';
import type { Clock } from '../../host/clock.ts';
import type { FirstQuestion } from './first-question.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { Notices } from '../notices/notices.ts';
import type { StaticPodPass } from '../drain/pod-pass.ts';
import type { ShutdownDetector } from './detector.ts';

export interface PhaseFactDependencies {
  readonly nodeName: string;
  readonly bootId: string;
  /** When this process started, in milliseconds since the boot. */
  readonly startedSinceBootMs: number;
  /** `apiWaitSec`, `progressWaitSec` and `maxHoldSec` of the configuration. */
  readonly limits: {
    readonly apiWaitSec: number;
    readonly progressWaitSec: number;
    readonly maxHoldSec?: number | undefined;
  };
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly firstQuestion: Pick<FirstQuestion, 'askedAt'>;
  readonly detector: Pick<ShutdownDetector, 'read'>;
  readonly notices: Pick<Notices, 'addTo'>;
  /** Undefined where no cluster is configured. */
  readonly cluster: Pick<OwnMaintenances, 'state' | 'isFree' | 'own'> | undefined;
  /** How the drain gets no further with the API server; undefined where it does. */
  readonly stall: () => Stall | undefined;
  /** How far the cluster has come with the drain of this maintenance. */
  readonly standOf: (maintenance: string) => Stand;
  /** For how long the API server has said that the node has no Node object, in milliseconds. */
  readonly nodeGoneMs: (signal: AbortSignal) => Promise<number>;
  /** Whether manifests could not be moved for a while. */
  readonly manifestsStuck: () => boolean;
  /** Whether an offline drain was handed over to the cluster in this iteration. */
  readonly handedOver: () => boolean;
  /** The last pass over the pods. */
  readonly lastPass: () => StaticPodPass | undefined;
}

/** The name of the NodeMaintenance; undefined while no shutdown is known. */
function nameOf(phase: Phase): string | undefined {
  return phase.kind === 'watching' ? undefined : phase.maintenance;
}

/** A name for another NodeMaintenance: none that this phase uses, or under which a manifest is parked. */
function freeNameOf({ nodeName, cluster, lastPass }: PhaseFactDependencies, phase: Phase): string | undefined {
  const parked = lastPass()?.view.parked ?? [];
  const inUse = new Set([...parked.map(({ maintenance }) => maintenance), nameOf(phase)]);
  const names = shutdownNames(nodeName).filter((each) => !inUse.has(each) && cluster?.isFree(each) !== false);
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
function isWithdrawn(phase: Phase, cluster: PhaseFactDependencies['cluster']): boolean {
  if (phase.kind !== 'recovering' || phase.cause !== 'canceled' || cluster === undefined) return true;
  if (cluster.state(phase.maintenance) === 'open') return false;
  return cluster.own().every((each) => !isNamed(phase, each.metadata.name) || stageOf(each) === 'Complete');
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

/** Reads the facts that decide the phase, from the machine, the cluster and the last pass over the pods. */
export async function readPhaseFacts(
  dependencies: PhaseFactDependencies,
  phase: Phase,
  signal: AbortSignal,
): Promise<Omit<PhaseFacts, 'release'>> {
  const { clock, cluster, limits, detector, notices } = dependencies;
  const held = heldOf(phase, dependencies.bootId);
  const goingDown = notices.addTo(await detector.read(held, signal), phase);
  const name = nameOf(phase);
  const pass = dependencies.lastPass();
  // A pass of another phase says nothing: its view may be older than what this phase has to put back.
  const current = pass?.phase === phase ? pass : undefined;
  return {
    now: clock.now(),
    sinceBootMs: clock.monotonic(),
    bootId: dependencies.bootId,
    nodeName: dependencies.nodeName,
    goingDown,
    clusterConfigured: cluster !== undefined,
    startedSinceBootMs: dependencies.startedSinceBootMs,
    askedSinceBootMs: dependencies.firstQuestion.askedAt(phase),
    apiWaitMs: limits.apiWaitSec * 1000,
    maxHoldMs: limits.maxHoldSec === undefined ? undefined : limits.maxHoldSec * 1000,
    maintenance: (name === undefined ? undefined : cluster?.state(name)) ?? 'absent',
    freeName: freeNameOf(dependencies, phase),
    progressWaitMs: limits.progressWaitSec * 1000,
    stall: dependencies.stall(),
    stand: dependencies.standOf(name ?? ''),
    nodeGoneMs: phase.kind === 'draining' && phase.mode === 'cluster' ? await dependencies.nodeGoneMs(signal) : 0,
    handedOver: dependencies.handedOver(),
    drained: current?.drained === true,
    left: current?.left,
    running: current?.running,
    manifestsStuck: dependencies.manifestsStuck(),
    recovered: current !== undefined && isRecovered(phase, current) && isWithdrawn(phase, cluster),
  };
}
