import type { Lease, LeaseSpec } from '../../api/lease.ts';
import { NOTES_BY_ANNOTATION } from '../../api/names.ts';

/**
 * A Lease that has not changed for this long has expired (as --leader-elect-lease-duration of kube-controller-manager). Agents
 * use it too, because they do not know the controller's setting while the Lease has no holder.
 */
const LEASE_DURATION_MS = 15_000;

/** A Lease as this process has observed it (client-go: observedRecord, observedTime). */
export interface LeaseObservation {
  /** Undefined if there is none. */
  readonly lease: Lease | undefined;
  /** When its present content was first observed, in milliseconds of this process's monotonic clock. */
  readonly since: number;
  /** Whether its content was different before: then a controller has changed it. */
  readonly changed: boolean;
}

/** Whether this candidate may lead, and then the spec to write into the Lease. */
export type LeaseDecision =
  | { readonly kind: 'lead'; readonly spec: LeaseSpec }
  | { readonly kind: 'follow'; readonly holder: string };

/** A candidate of the leader election. */
interface LeaseCandidate {
  readonly identity: string;
  /** In milliseconds. */
  readonly durationMs: number;
}

/** A time as metav1.MicroTime writes it; `ms` since the epoch. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function isSame(a: Lease | undefined, b: Lease | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  // Metadata is not compared: a changed annotation does not show that the holder lives.
  return (
    a.spec?.holderIdentity === b.spec?.holderIdentity &&
    a.spec?.renewTime === b.spec?.renewTime &&
    a.spec?.acquireTime === b.spec?.acquireTime &&
    a.spec?.leaseDurationSeconds === b.spec?.leaseDurationSeconds &&
    a.spec?.leaseTransitions === b.spec?.leaseTransitions
  );
}

/**
 * Records a Lease that was just read. The times in it come from another machine's clock and are only compared with each other.
 * What matters is how long this process has observed no change, as in client-go's leader election. `now` is monotonic.
 */
export function observeLease(
  before: LeaseObservation | undefined,
  lease: Lease | undefined,
  now: number,
): LeaseObservation {
  if (before === undefined) return { lease, since: now, changed: false };
  if (isSame(before.lease, lease)) return { ...before, lease };
  return { lease, since: now, changed: true };
}

/**
 * Whether the controller that has the Lease, or had it last, writes notes onto Nodes (`nodeNote`). An older one that takes the
 * Lease leaves the annotation as it is, with the identity of another.
 */
export function writesNotes(lease: Lease | undefined): boolean {
  const by = lease?.metadata.annotations?.[NOTES_BY_ANNOTATION];
  const holder = lease?.spec?.holderIdentity ?? '';
  return by !== undefined && (holder === '' || holder === by);
}

function durationMsOf(spec: LeaseSpec | undefined, fallbackMs: number): number {
  const seconds = spec?.leaseDurationSeconds;
  return seconds === undefined || seconds <= 0 ? fallbackMs : seconds * 1000;
}

/**
 * Decides whether the candidate may lead: if the Lease has no holder, is its own, or has expired. Of several writers the
 * server's resourceVersion lets one succeed. `now` is monotonic; `at`, for people, is in milliseconds since the epoch.
 */
export function decideLease(
  observation: LeaseObservation,
  candidate: LeaseCandidate,
  now: number,
  at: number,
): LeaseDecision {
  const old = observation.lease?.spec;
  const holder = old?.holderIdentity ?? '';
  const isOurs = holder === candidate.identity;
  const expired = now - observation.since >= durationMsOf(old, candidate.durationMs);
  if (holder !== '' && !isOurs && !expired) return { kind: 'follow', holder };
  const transitions = old?.leaseTransitions ?? 0;
  return {
    kind: 'lead',
    spec: {
      holderIdentity: candidate.identity,
      leaseDurationSeconds: Math.ceil(candidate.durationMs / 1000),
      acquireTime: isOurs && old?.acquireTime !== undefined ? old.acquireTime : microTime(at),
      renewTime: microTime(at),
      leaseTransitions: isOurs || observation.lease === undefined ? transitions : transitions + 1,
    },
  };
}

/** The spec with which the holder releases the Lease, so that another candidate leads at once; `at` is since the epoch. */
export function releasedLease(old: LeaseSpec | undefined, at: number): LeaseSpec {
  return {
    leaseDurationSeconds: 1,
    acquireTime: microTime(at),
    renewTime: microTime(at),
    leaseTransitions: old?.leaseTransitions ?? 0,
  };
}

/**
 * Whether a controller lives; if none does, agents drain their own nodes. A single observation of a Lease is not enough,
 * because its times come from another clock: the answer is `unknown` until the Lease changes (`alive`), or has not changed for
 * its duration and for at least 15 s, so that a change of the leader is not taken for its end (`dead`). If there is no Lease,
 * no controller has ever run: `dead`. `now` is monotonic, in milliseconds.
 */
export function controllerAlive(observation: LeaseObservation | undefined, now: number): 'alive' | 'dead' | 'unknown' {
  if (observation === undefined) return 'unknown';
  if (observation.lease === undefined) return 'dead';
  const spec = observation.lease.spec;
  const limitMs = Math.max(durationMsOf(spec, LEASE_DURATION_MS), LEASE_DURATION_MS);
  if (now - observation.since >= limitMs) return 'dead';
  return observation.changed && (spec?.holderIdentity ?? '') !== '' ? 'alive' : 'unknown';
}
