import { NOTES_BY_ANNOTATION, VERSION_ANNOTATION } from '../../api/names.ts';
import { decideLease, type LeaseObservation, observeLease, releasedLease } from '../../decide/leader/lease.ts';
import { describeError } from '../../errors.ts';
import { type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';
import { type LeaseName, readLease, writeLease } from '../lease.ts';
import type { Log } from '../../telemetry/log.ts';
import { buildVersion } from '../../version.ts';
import type { LeaderReadiness } from './readiness.ts';
import { createTerm, type Term } from './term.ts';

/** Times of an election, in milliseconds, as the flags --leader-elect-… have them. */
interface ElectionOptions {
  readonly place: LeaseName;
  /** Unique to this process: the process with the holder's identity is the leader. */
  readonly identity: string;
  /** A Lease without a renewal for this long has expired, and another replica may take it. */
  readonly leaseMs: number;
  /** A leader stops writing this long after the start of its last successful renewal; less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** The leader renews the Lease at this interval; followers read it twice as often. */
  readonly retryMs: number;
  /** What the leader says of itself on the Lease. */
  readonly annotations?: Readonly<Record<string, string>>;
}

interface ElectionDependencies {
  /** A client of its own: renewals must not queue behind the work. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Asked about once in each interval: a replica that does not see what it has to decide from does not lead. */
  readonly readiness: Pick<LeaderReadiness, 'mayLead'>;
  /** Called with whether this process leads, at the start and at every change. */
  readonly onLeading: (isLeader: boolean) => void;
}

/** A request for the Lease is given up after this time, so that it cannot use up all the time that there is to renew it. */
const CALL_MS = 5_000;
/** Giving the Lease back is given up after this time; another replica then leads when the Lease has expired. */
const RELEASE_MS = 2_000;
/** Followers read twice as often as the leader renews: a free Lease is taken at once, and a GET costs little. */
const FOLLOWER_SHARE = 2;

/** What an attempt to take or renew the Lease found: this process has it by a call that began then, or another one has it. */
type Attempt =
  | { readonly kind: 'taken'; readonly begun: Moment }
  | { readonly kind: 'follow'; readonly holder: string }
  /** The Lease could not be read or written, or another replica was faster. */
  | { readonly kind: 'failed' };

/** One candidate of an election. */
class Candidate {
  readonly #options: ElectionOptions;
  readonly #dependencies: ElectionDependencies;
  /** The Lease as it was last read or written. */
  #observation: LeaseObservation | undefined;
  /** Whether `#observation` is from this process's own last write: then the Lease is renewed without reading it before. */
  #isFresh = false;
  /** Whether this process may have the Lease, also by a write whose answer was lost. */
  #mayHold = false;
  /** The last state or failure that was logged, so that each is logged once. */
  #lastLogged: string | undefined;

  constructor(options: ElectionOptions, dependencies: ElectionDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  async run(lead: (term: Term) => Promise<void>, stop: AbortSignal): Promise<void> {
    const { onLeading, readiness } = this.#dependencies;
    onLeading(false);
    let isAnswered = true;
    try {
      while (!stop.aborted) {
        if (!readiness.mayLead(isAnswered)) {
          await this.#standBack(stop);
          continue;
        }
        const attempt = await this.#attempt(CALL_MS);
        isAnswered = attempt.kind !== 'failed';
        if (attempt.kind === 'taken') {
          if (!stop.aborted) await this.#serve(lead, attempt.begun);
          continue;
        }
        if (attempt.kind === 'follow') this.#logState(`following ${attempt.holder}`);
        await this.#pause(stop);
      }
    } finally {
      if (this.#mayHold) await this.#release();
    }
  }

  /** The pause between two looks of a follower. */
  async #pause(stop: AbortSignal): Promise<void> {
    await this.#dependencies.clock.sleep(this.#options.retryMs / FOLLOWER_SHARE, stop).catch(() => undefined);
  }

  /** Leaves the Lease to others while this replica does not see what it would have to decide from. */
  async #standBack(stop: AbortSignal): Promise<void> {
    if (this.#mayHold) await this.#release();
    await this.#pause(stop);
  }

  /** Leads for one term, which began with a write of the Lease. */
  async #serve(lead: (term: Term) => Promise<void>, begun: Moment): Promise<void> {
    const { clock, log, onLeading } = this.#dependencies;
    const term = createTerm(begun, this.#options.renewDeadlineMs, clock);
    const over = new AbortController();
    onLeading(true);
    this.#logState('leading');
    const leading = lead(term).finally(() => {
      over.abort();
    });
    try {
      await Promise.all([leading, this.#renew(term, AbortSignal.any([over.signal, term.signal]))]);
    } finally {
      onLeading(false);
      this.#lastLogged = undefined;
      if (term.signal.aborted) log.warn({ reason: describeError(term.signal.reason) }, 'lost the lease');
    }
  }

  /** Renews the Lease until the term is lost or `over` is aborted. */
  async #renew(term: Term, over: AbortSignal): Promise<void> {
    const { retryMs, renewDeadlineMs } = this.#options;
    while (!over.aborted) {
      const pauseMs = Math.max(0, Math.min(retryMs, term.remainingMs()));
      await this.#dependencies.clock.sleep(pauseMs, over).catch(() => undefined);
      if (over.aborted) return;
      const remainingMs = term.remainingMs();
      if (remainingMs <= 0) {
        term.lose(`the Lease was not renewed for ${renewDeadlineMs / 1000} s`);
        return;
      }
      const attempt = await this.#attempt(remainingMs);
      if (!this.#dependencies.readiness.mayLead(attempt.kind !== 'failed')) {
        term.lose('its watches do not follow the API server');
        return;
      }
      if (attempt.kind === 'failed') continue;
      if (attempt.kind === 'follow') {
        term.lose(`${attempt.holder} has the Lease`);
        return;
      }
      term.renewed(attempt.begun);
      this.#lastLogged = undefined;
    }
  }

  /** Takes or renews the Lease, in at most `limitMs`; a failure is logged. */
  async #attempt(limitMs: number): Promise<Attempt> {
    try {
      // Not aborted when the election stops: a write that is cut short may still have made this process the leader.
      return await this.#takeOrRenew(AbortSignal.timeout(Math.max(1, Math.min(CALL_MS, limitMs))));
    } catch (error) {
      const reason = describeError(error);
      if (reason !== this.#lastLogged) {
        this.#dependencies.log.warn({ lease: this.#leaseName(), reason }, 'cannot take the lease');
      }
      this.#lastLogged = reason;
      this.#isFresh = false;
      return { kind: 'failed' };
    }
  }

  async #takeOrRenew(signal: AbortSignal): Promise<Attempt> {
    const { client, clock } = this.#dependencies;
    const { place, identity, leaseMs, annotations } = this.#options;
    const observation = await this.#observe(signal);
    const candidate = { identity, durationMs: leaseMs };
    const decision = decideLease(observation, candidate, clock.monotonic(), clock.now());
    if (decision.kind === 'follow') return decision;
    const begun = momentOf(clock);
    this.#isFresh = false;
    this.#mayHold = true;
    const written = await writeLease(
      client,
      place,
      {
        old: observation.lease,
        spec: decision.spec,
        annotations: { ...annotations, [NOTES_BY_ANNOTATION]: identity, [VERSION_ANNOTATION]: buildVersion() },
      },
      signal,
    );
    if (written === undefined) return { kind: 'failed' };
    this.#observation = observeLease(observation, written, clock.monotonic());
    this.#isFresh = true;
    return { kind: 'taken', begun };
  }

  /** The Lease as this process's last write left it, or else as it is read now. */
  async #observe(signal: AbortSignal): Promise<LeaseObservation> {
    if (this.#isFresh && this.#observation !== undefined) return this.#observation;
    const { client, clock } = this.#dependencies;
    const lease = await readLease(client, this.#options.place, signal);
    this.#observation = observeLease(this.#observation, lease, clock.monotonic());
    return this.#observation;
  }

  /** Gives the Lease back, so that another replica leads at once. */
  async #release(): Promise<void> {
    const { client, clock, log } = this.#dependencies;
    const { place, identity } = this.#options;
    const signal = AbortSignal.timeout(RELEASE_MS);
    // Tried once: what cannot be given back expires.
    this.#mayHold = false;
    this.#isFresh = false;
    try {
      const old = await readLease(client, place, signal);
      if (old?.spec?.holderIdentity !== identity) return;
      await writeLease(client, place, { old, spec: releasedLease(old.spec, clock.now()) }, signal);
      this.#logState('released the lease');
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cannot release the lease; another one leads when it has expired');
    }
  }

  #logState(state: string): void {
    const { identity } = this.#options;
    if (state !== this.#lastLogged) this.#dependencies.log.info({ lease: this.#leaseName(), identity }, state);
    this.#lastLogged = state;
  }

  #leaseName(): string {
    const { namespace, name } = this.#options.place;
    return `${namespace}/${name}`;
  }
}

/**
 * Stands for election until `stop` is aborted, and calls `lead` for each term won. `lead` ends when `stop` is aborted, after
 * which it may finish what is under way, or when the term's signal is. Then the Lease is given back, so that another replica
 * leads at once. A leader that cannot renew is a follower again; one that does not see what it decides from gives the Lease
 * back, and stands again when it does. Rejects with what `lead` rejects with.
 */
export async function runElection(
  options: ElectionOptions,
  dependencies: ElectionDependencies,
  lead: (term: Term) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  await new Candidate(options, dependencies).run(lead, stop);
}
