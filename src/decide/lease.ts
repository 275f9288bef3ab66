import type { Lease, LeaseSpec } from '../api/lease.ts';

/**
 * How long a controller's Lease may stay as it is before nobody leads (kube-controller-manager's --leader-elect-lease-duration).
 * Also for agents, who do not know the controller's own setting while nobody holds the Lease.
 */
export const LEASE_DURATION_MS = 15_000;

/** A Lease as this process has seen it. */
export interface LeaseObservation {
  /** Undefined where there is none. */
  readonly lease: Lease | undefined;
  /** When it was first seen as it is, in milliseconds on this process's own monotonic clock. */
  readonly since: number;
  /** Whether it was seen differently before: then somebody was there to change it. */
  readonly changed: boolean;
}

/** Who may lead, and with what the Lease is to be written then. */
export type LeaseDecision =
  | { readonly kind: 'lead'; readonly spec: LeaseSpec }
  | { readonly kind: 'follow'; readonly holder: string };

/** One who stands for election. */
export interface LeaseCandidate {
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
  // Its metadata does not count: an annotation is not a sign of life of its holder.
  return (
    a.spec?.holderIdentity === b.spec?.holderIdentity &&
    a.spec?.renewTime === b.spec?.renewTime &&
    a.spec?.acquireTime === b.spec?.acquireTime &&
    a.spec?.leaseDurationSeconds === b.spec?.leaseDurationSeconds &&
    a.spec?.leaseTransitions === b.spec?.leaseTransitions
  );
}

/**
 * Takes in a Lease that was just read. The times in it were written by another clock and are only compared with each other:
 * what counts is for how long it has not changed before our own eyes, as in client-go's leader election. `now` is monotonic.
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

function durationMsOf(spec: LeaseSpec | undefined, fallbackMs: number): number {
  const seconds = spec?.leaseDurationSeconds;
  return seconds === undefined || seconds <= 0 ? fallbackMs : seconds * 1000;
}

/**
 * Decides who leads. A Lease that is free, ours, or has not changed for its duration may be written by us; the server's
 * resourceVersion settles who of several writes first. `now` is monotonic, `at` is for people: milliseconds since the epoch.
 */
export function decideLease(
  sight: LeaseObservation,
  candidate: LeaseCandidate,
  now: number,
  at: number,
): LeaseDecision {
  const old = sight.lease?.spec;
  const holder = old?.holderIdentity ?? '';
  const isOurs = holder === candidate.identity;
  const expired = now - sight.since >= durationMsOf(old, candidate.durationMs);
  if (holder !== '' && !isOurs && !expired) return { kind: 'follow', holder };
  const transitions = old?.leaseTransitions ?? 0;
  return {
    kind: 'lead',
    spec: {
      holderIdentity: candidate.identity,
      leaseDurationSeconds: Math.ceil(candidate.durationMs / 1000),
      acquireTime: isOurs && old?.acquireTime !== undefined ? old.acquireTime : microTime(at),
      renewTime: microTime(at),
      leaseTransitions: isOurs || sight.lease === undefined ? transitions : transitions + 1,
    },
  };
}

/** What the holder writes when it gives the Lease back, so that another one leads at once; `at` since the epoch. */
export function releasedLease(old: LeaseSpec | undefined, at: number): LeaseSpec {
  return {
    leaseDurationSeconds: 1,
    acquireTime: microTime(at),
    renewTime: microTime(at),
    leaseTransitions: old?.leaseTransitions ?? 0,
  };
}

/**
 * Whether a controller lives, as the agents have to know who act for their own node where none does. One look at a Lease
 * tells nothing, for its times are of another clock: it is `unknown` until the Lease changes (`alive`) or has not changed
 * for its duration, and 15 s at least, so that a hand-over does not count (`dead`). Without a Lease there never was one:
 * `dead`. `now` is monotonic, in milliseconds.
 */
export function controllerAlive(sight: LeaseObservation | undefined, now: number): 'alive' | 'dead' | 'unknown' {
  if (sight === undefined) return 'unknown';
  if (sight.lease === undefined) return 'dead';
  const spec = sight.lease.spec;
  const limitMs = Math.max(durationMsOf(spec, LEASE_DURATION_MS), LEASE_DURATION_MS);
  if (now - sight.since >= limitMs) return 'dead';
  return sight.changed && (spec?.holderIdentity ?? '') !== '' ? 'alive' : 'unknown';
}
