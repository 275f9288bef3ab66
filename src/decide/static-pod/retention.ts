import type { NodeDrain } from '../maintenance/maintenance.ts';
import { isNamed, type Phase } from '../shutdown/phase.ts';

/** What decides whether a parked manifest stays parked. */
export interface RetentionFacts {
  readonly phase: Phase;
  /** The policy after a boot: the agent completes its own maintenance, or waits for somebody to do it. */
  readonly onBoot: 'complete' | 'wait';
  readonly clusterConfigured: boolean;
  /** The names of the maintenances that this node's agent made. */
  readonly own: readonly string[];
  /** All drains of this node; undefined while the API server has not told. */
  readonly drains: readonly NodeDrain[] | undefined;
  /** Whether the API server has been asked for long enough without an answer. */
  readonly apiSilent: boolean;
}

/**
 * Whether a maintenance counts: not one of this node's own earlier shutdowns, which is over whatever the API server still
 * says, unless the policy is to wait for somebody to complete it.
 */
export function isEffective(maintenance: string, { phase, onBoot, own }: RetentionFacts): boolean {
  const current = phase.kind === 'draining' || phase.kind === 'released' ? phase.maintenance : undefined;
  const waiting =
    onBoot === 'wait' && (phase.kind === 'watching' || (phase.kind === 'recovering' && phase.cause === 'boot'));
  return waiting || maintenance === current || !own.includes(maintenance);
}

/** The drains of the maintenances that count. */
export function effectiveDrains(facts: RetentionFacts): readonly NodeDrain[] {
  return (facts.drains ?? []).filter(({ maintenance }) => isEffective(maintenance, facts));
}

/** Stands in place of a maintenance's name, which cannot be this, for what a person parked; only a person gives it back. */
export const MANUAL = '(by hand)';

/** Whether a manifest that was parked for `maintenance` stays parked (KEP-4212, "kubelet: Static Pods", last paragraph). */
export function keepsParked(maintenance: string, facts: RetentionFacts): boolean {
  const { phase, onBoot, clusterConfigured, drains, apiSilent } = facts;
  if (maintenance === MANUAL) return true;
  // Nothing is given back to a node that goes down.
  if (phase.kind === 'draining' || phase.kind === 'released') return true;
  const isItsOwn = phase.kind === 'recovering' && isNamed(phase, maintenance);
  // By policy the boot itself ends the agent's own maintenance; that needs no API server.
  if (isItsOwn && (phase.cause === 'canceled' || onBoot === 'complete')) return false;
  if (!clusterConfigured) return false;
  // What is not known is kept: a manifest that comes back too early starts a pod under somebody's hands.
  // But where not even the reason is known, as after a shutdown whose disk took no writes, the API server that is waited
  // for may be what lies parked.
  if (drains === undefined) return maintenance !== '' || !apiSilent;
  const name = isItsOwn ? phase.maintenance : maintenance;
  return effectiveDrains(facts).some((drain) => drain.maintenance === name);
}
