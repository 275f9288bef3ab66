import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { reachesStaticPods, targetsCover } from '../maintenance/drain-plan.ts';
import { type NodeDrain, selectsNode, stageOf } from '../maintenance/maintenance.ts';
import type { DrainPod } from '../pod.ts';
import { isNamed, type Phase } from '../shutdown/phase.ts';

/** The facts that decide whether a parked manifest stays parked. */
export interface RetentionFacts {
  readonly phase: Phase;
  /** The policy after a boot: the agent completes its own maintenance, or waits until an administrator completes it. */
  readonly onBoot: 'complete' | 'wait';
  readonly clusterConfigured: boolean;
  /** The names of the maintenances that this node's agent has created. */
  readonly own: readonly string[];
  /** All drains of this node; undefined while the API server has not answered. */
  readonly drains: readonly NodeDrain[] | undefined;
  /** Whether the API server has not answered for so long that the agent does not wait for it any more. */
  readonly apiSilent: boolean;
  /** Maintenances that have the node although their status does not record it (`holdsUnrecorded`); absent for none. */
  readonly unrecorded?: ReadonlySet<string>;
}

/**
 * Whether a maintenance is in effect. One from an earlier shutdown of this node is not, even if the API server still lists
 * it, unless `onBoot` is `wait`.
 */
export function isEffective(maintenance: string, { phase, onBoot, own }: RetentionFacts): boolean {
  const current = phase.kind === 'draining' || phase.kind === 'released' ? phase.maintenance : undefined;
  const waiting =
    onBoot === 'wait' && (phase.kind === 'watching' || (phase.kind === 'recovering' && phase.cause === 'boot'));
  return waiting || maintenance === current || !own.includes(maintenance);
}

/**
 * The drains of the maintenances that are in effect, that of this node's shutdown last: what leaves for several of them is
 * parked for one that may outlive the shutdown.
 */
export function effectiveDrains(facts: RetentionFacts): readonly NodeDrain[] {
  const { drains = [], own } = facts;
  const isOwn = ({ maintenance }: NodeDrain): number => Number(own.includes(maintenance));
  return drains
    .filter(({ maintenance }) => isEffective(maintenance, facts))
    .toSorted((one, other) => isOwn(one) - isOwn(other));
}

/**
 * Whether a manifest was parked in another cluster than that in which the node is now, by the certificates of their authorities:
 * one that rotates its certificate has both for a while.
 */
export function isOfAnotherCluster(then: readonly string[] | undefined, now: readonly string[] | undefined): boolean {
  return then !== undefined && now !== undefined && !then.some((each) => now.includes(each));
}

/** Replaces the name of a maintenance if a person parked the manifest; only a person restores it. No name can be this text. */
export const MANUAL = '(by hand)';

/** What decides whether a parked manifest stays parked. */
interface RetainedPod extends Pick<DrainPod, 'priority' | 'labels'> {
  /** The maintenance for which it was parked. */
  readonly maintenance: string;
}

/** Whether a drain that is in effect targets the pod, for whichever maintenance its manifest was parked. */
function isTargeted({ priority, labels }: RetainedPod, facts: RetentionFacts): boolean {
  const pod = { podType: 'Static', priority, labels } as const;
  return effectiveDrains(facts).some(({ drainTargets }) => targetsCover(drainTargets, pod));
}

function isParkedForShutdown({ maintenance }: RetainedPod, { phase }: RetentionFacts): boolean {
  return phase.kind === 'recovering' && isNamed(phase, maintenance);
}

/** Whether the end of this node's shutdown, or of its boot, gives the manifest back, as far as no other drain keeps it. */
function isGivenBack(pod: RetainedPod, facts: RetentionFacts): boolean {
  const { phase, onBoot } = facts;
  if (phase.kind !== 'recovering' || !isParkedForShutdown(pod, facts)) return false;
  return phase.cause === 'canceled' || onBoot === 'complete';
}

/** The maintenances in effect that would give back manifests, as far as their status tells; '' is none of them. */
export function releasingMaintenances(parked: readonly RetainedPod[], facts: RetentionFacts): readonly string[] {
  if (facts.drains === undefined) return [];
  const free = parked.filter((pod) => !keepsParked(pod, facts) && !isGivenBack(pod, facts));
  const names = new Set(free.map(({ maintenance }) => maintenance));
  return [...names].filter((name) => name !== '' && isEffective(name, facts));
}

/**
 * Whether a maintenance whose status does not record a node has it all the same: its Node object was deleted while the
 * machine runs, or has been registered again just now. What is parked for it stays so; a node that has left the selector
 * gets it back. `node` is undefined where the API server has no such Node.
 */
export function holdsUnrecorded(maintenance: NodeMaintenance, node: Node | undefined): boolean {
  return stageOf(maintenance) === 'Drain' && (node === undefined || selectsNode(maintenance, node));
}

/** Whether a manifest that was parked for this node's shutdown stays parked after it, because another drain targets the pod. */
export function isKeptByOthers(pod: RetainedPod, facts: RetentionFacts): boolean {
  return isGivenBack(pod, facts) && isTargeted(pod, facts);
}

/** Whether the manifest of a pod stays parked (KEP-4212, "kubelet: Static Pods", last paragraph). */
export function keepsParked(pod: RetainedPod, facts: RetentionFacts): boolean {
  const { phase, clusterConfigured, drains, apiSilent } = facts;
  if (pod.maintenance === MANUAL) return true;
  // No manifest is restored on a node that is shutting down.
  if (phase.kind === 'draining' || phase.kind === 'released') return true;
  if (isTargeted(pod, facts)) return true;
  // The boot, or the end of the shutdown, ends the agent's own maintenance without the API server.
  if (isGivenBack(pod, facts) || !clusterConfigured) return false;
  // Without an answer the manifest stays parked: restored too early, it would start a pod in the middle of a maintenance.
  // But if the maintenance is not known either, for instance after a shutdown with a broken disk, the parked manifest may
  // be that of the API server itself, so the agent does not wait for ever.
  if (drains === undefined) return pod.maintenance !== '' || !apiSilent;
  const isItsOwn = isParkedForShutdown(pod, facts);
  const name = isItsOwn && phase.kind === 'recovering' ? phase.maintenance : pod.maintenance;
  if (facts.unrecorded?.has(name) === true) return true;
  return effectiveDrains(facts).some(({ maintenance, drainTargets }) => {
    // The priority of the mirror pod, by which the manifest was parked, may be another one than that of the manifest.
    return maintenance === name && (isItsOwn || reachesStaticPods(drainTargets));
  });
}
