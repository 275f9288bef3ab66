import type { NodeDrain } from '../maintenance/maintenance.ts';
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

/** The drains of the maintenances that are in effect. */
export function effectiveDrains(facts: RetentionFacts): readonly NodeDrain[] {
  return (facts.drains ?? []).filter(({ maintenance }) => isEffective(maintenance, facts));
}

/** Replaces the name of a maintenance if a person parked the manifest; only a person restores it. No name can be this text. */
export const MANUAL = '(by hand)';

/** Whether a manifest that was parked for `maintenance` stays parked (KEP-4212, "kubelet: Static Pods", last paragraph). */
export function keepsParked(maintenance: string, facts: RetentionFacts): boolean {
  const { phase, onBoot, clusterConfigured, drains, apiSilent } = facts;
  if (maintenance === MANUAL) return true;
  // No manifest is restored on a node that is shutting down.
  if (phase.kind === 'draining' || phase.kind === 'released') return true;
  const isItsOwn = phase.kind === 'recovering' && isNamed(phase, maintenance);
  // With this policy the boot ends the agent's own maintenance, without the API server.
  if (isItsOwn && (phase.cause === 'canceled' || onBoot === 'complete')) return false;
  if (!clusterConfigured) return false;
  // Without an answer the manifest stays parked: restored too early, it would start a pod in the middle of a maintenance.
  // But if the maintenance is not known either, for instance after a shutdown with a broken disk, the parked manifest may
  // be that of the API server itself, so the agent does not wait for ever.
  if (drains === undefined) return maintenance !== '' || !apiSilent;
  const name = isItsOwn ? phase.maintenance : maintenance;
  return effectiveDrains(facts).some((drain) => drain.maintenance === name);
}
