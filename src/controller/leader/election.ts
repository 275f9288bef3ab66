import {
  decideLease,
  type LeaseDecision,
  type LeaseObservation,
  observeLease,
  releasedLease,
} from '../../decide/lease.ts';
import { describeError } from '../../errors.ts';
import { type Clock, type Moment, momentOf, monotonicNow } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { type LeaseName, readLease, writeLease } from '../../kube/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import { createTerm, type Term } from './term.ts';

/** Times of an election, in milliseconds, as the flags --leader-elect-… have them. */
export interface ElectionOptions {
  readonly place: LeaseName;
  /** Unique to this process: the process with the holder's identity is the leader. */
  readonly identity: string;
  /** A Lease without a renewal for this long has expired, and another replica may take it. */
  readonly leaseMs: number;
  /** A leader stops writing this long after the start of its last successful renewal; less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** The leader renews the Lease, and the others read it, at this interval. */
  readonly retryMs: number;
}

export interface ElectionDependencies {
  /** A client of its own: renewals must not queue behind the work. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Hears whether this process leads. */
  readonly onLeading: (isLeader: boolean) => void;
}

/** One call for the Lease may not use up all the time there is to renew it. */
const CALL_MS = 5_000;
const RELEASE_MS = 2_000;
/** The others look twice as often as the leader renews: a free Lease is taken at once, and a GET costs little. */
const FOLLOWER_SHARE = 2;

/**
 * Stands for election until `stop` is aborted, and calls `lead` for each term won. `lead` ends when `stop` is aborted, after
 * which it may finish what is under way, or when the term's signal is. Then the Lease is given back, so that another one
 * leads at once. A leader that cannot renew is a follower again. Rejects with what `lead` rejects with.
 */
export async function runElection(
  options: ElectionOptions,
  dependencies: ElectionDependencies,
  lead: (term: Term) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const { client, clock, log, onLeading } = dependencies;
  const { place, identity, leaseMs, renewDeadlineMs, retryMs } = options;
  let sight: LeaseObservation | undefined;
  /** Whether the Lease may be ours, also by a write whose answer was lost. */
  let mayHold = false;
  /** Whether `sight` is from our own last write: then it is renewed without reading it before. */
  let isFresh = false;
  let told = '';

  const tell = (what: string): void => {
    if (what !== told && what !== '') log.info({ lease: `${place.namespace}/${place.name}`, identity }, what);
    told = what;
  };

  /** Takes or renews the Lease; returns when the call began that did it, or whom to follow, or undefined for nothing. */
  const attempt = async (wait: AbortSignal): Promise<Moment | { readonly holder: string } | undefined> => {
    if (!isFresh) sight = observeLease(sight, await readLease(client, place, wait), monotonicNow());
    if (sight === undefined) return undefined;
    const decision: LeaseDecision = decideLease(sight, { identity, durationMs: leaseMs }, monotonicNow(), clock.now());
    if (decision.kind === 'follow') return { holder: decision.holder };
    const begun = momentOf(clock);
    isFresh = false;
    mayHold = true;
    const written = await writeLease(client, place, { old: sight.lease, spec: decision.spec }, wait);
    if (written === undefined) return undefined;
    sight = observeLease(sight, written, monotonicNow());
    isFresh = true;
    return begun;
  };

  const tryOnce = async (limitMs: number): ReturnType<typeof attempt> => {
    try {
      // Not aborted by `stop`: a write that is cut short may yet have made us the leader.
      return await attempt(AbortSignal.timeout(Math.max(1, Math.min(CALL_MS, limitMs))));
    } catch (error) {
      const reason = describeError(error);
      if (reason !== told) log.warn({ lease: `${place.namespace}/${place.name}`, reason }, 'cannot take the lease');
      told = reason;
      isFresh = false;
      return undefined;
    }
  };

  /** Renews until the term is lost or `over`. */
  const keep = async (term: Term, over: AbortSignal): Promise<void> => {
    while (!over.aborted) {
      await clock.sleep(Math.max(0, Math.min(retryMs, term.remainingMs())), over).catch(() => undefined);
      if (over.aborted) return;
      const remaining = term.remainingMs();
      if (remaining <= 0) {
        term.lose(`the Lease was not renewed for ${renewDeadlineMs / 1000} s`);
        return;
      }
      const found = await tryOnce(remaining);
      if (found === undefined) continue;
      if ('holder' in found) {
        term.lose(`${found.holder} has the Lease`);
        return;
      }
      term.renewed(found);
      told = '';
    }
  };

  const serve = async (begun: Moment): Promise<void> => {
    const term = createTerm(begun, renewDeadlineMs, clock);
    const over = new AbortController();
    onLeading(true);
    tell('leading');
    const leading = lead(term).finally(() => {
      over.abort();
    });
    try {
      await Promise.all([leading, keep(term, AbortSignal.any([over.signal, term.signal]))]);
    } finally {
      onLeading(false);
      told = '';
      if (term.signal.aborted) log.warn({ reason: describeError(term.signal.reason) }, 'lost the lease');
    }
  };

  const release = async (): Promise<void> => {
    const wait = AbortSignal.timeout(RELEASE_MS);
    try {
      const lease = await readLease(client, place, wait);
      if (lease?.spec?.holderIdentity !== identity) return;
      const spec = releasedLease(lease.spec, clock.now());
      await writeLease(client, place, { old: lease, spec }, wait);
      tell('released the lease');
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cannot release the lease; another one leads when it has expired');
    }
  };

  onLeading(false);
  try {
    while (!stop.aborted) {
      const found = await tryOnce(CALL_MS);
      if (found !== undefined && 'monotonic' in found) {
        if (!stop.aborted) await serve(found);
        continue;
      }
      if (found !== undefined) tell(`following ${found.holder}`);
      await clock.sleep(retryMs / FOLLOWER_SHARE, stop).catch(() => undefined);
    }
  } finally {
    if (mayHold) await release();
  }
}
