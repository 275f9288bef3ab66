import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../../src/api/lease.ts';
import type { Term } from '../../../../src/kube/leader/term.ts';
import { runElection } from '../../../../src/kube/leader/election.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import type { Clock } from '../../../../src/host/clock.ts';
import type { KubeClient, KubeResponse } from '../../../../src/kube/client.ts';
import { CONTROLLER_LEASE } from '../../../../src/kube/lease.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

const LEASE_MS = 15_000;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
const OPTIONS = {
  place: CONTROLLER_LEASE,
  identity: 'us',
  leaseMs: LEASE_MS,
  renewDeadlineMs: RENEW_DEADLINE_MS,
  retryMs: RETRY_MS,
  annotations: { 'example.com/options': 'x' },
};

/** An election whose clocks advance only while it sleeps, on an API server that has one Lease. */
class Bench {
  readonly #startedAt = Date.parse('2026-11-22T12:00:00Z');
  readonly stop = new AbortController();
  readonly log: string[] = [];
  elapsedMs = 0;
  lease: Lease | undefined;
  /** Whether the candidate sees what it would decide from, by whether the API server answered its last call. */
  mayLead: (isAnswered: boolean) => boolean = () => true;
  /** Whether the server answers. */
  isReachable = true;
  #change = { ms: Infinity, act: (): unknown => undefined };
  #version = 0;

  /** Does something once, after the sleep of the election that ends so late. */
  at(ms: number, act: () => unknown): void {
    const once = (): void => {
      this.#change.ms = Infinity;
      act();
    };
    this.#change = { ms, act: once };
  }

  /** Runs until the candidate leads, which then stops. */
  async runOnce(): Promise<void> {
    await this.run(async () => await Promise.resolve(this.stop.abort()));
  }

  /** Sets the Lease as another client. */
  write(holderIdentity: string): void {
    const renewTime = new Date(this.#startedAt + this.elapsedMs).toISOString();
    this.#store({ holderIdentity, renewTime, leaseDurationSeconds: LEASE_MS / 1000 });
  }

  async run(lead: (term: Term) => Promise<void>): Promise<void> {
    const onLeading = (isLeader: boolean): void =>
      void this.log.push(`${this.elapsedMs} ${isLeader ? 'leads' : 'follows'}`);
    const readiness = { mayLead: (isAnswered: boolean) => this.mayLead(isAnswered) };
    const dependencies = { client: this.#client(), clock: this.#clock(), log: SILENT_LOG, readiness, onLeading };
    await runElection(OPTIONS, dependencies, lead, this.stop.signal);
  }

  #clock(): Clock {
    return {
      now: () => this.#startedAt + this.elapsedMs,
      monotonic: () => this.elapsedMs,
      sleep: async (ms, signal) => {
        await new Promise(setImmediate);
        signal.throwIfAborted();
        this.elapsedMs += ms;
        if (this.elapsedMs >= this.#change.ms) this.#change.act();
      },
    };
  }

  #client(): KubeClient {
    return {
      send: ({ method, body }) => {
        if (!this.isReachable) return Promise.reject(new NodemaintError('API_UNREACHABLE', 'no answer'));
        if (method === 'GET') return Promise.resolve(this.#answer(this.lease === undefined ? 404 : 200));
        const { metadata, spec } = body as Lease;
        const isCurrent = metadata.resourceVersion === this.lease?.metadata.resourceVersion;
        if (!isCurrent) return Promise.resolve(this.#answer(409));
        this.log.push(`${this.elapsedMs} ${method} ${spec?.holderIdentity ?? 'nothing'}`);
        this.#store(spec ?? {}, metadata.annotations);
        return Promise.resolve(this.#answer(200));
      },
      watch: () => {
        throw new Error('nothing is watched');
      },
      close: () => undefined,
    };
  }

  #store(spec: NonNullable<Lease['spec']>, annotations: Readonly<Record<string, string>> = {}): void {
    this.#version += 1;
    this.lease = { metadata: { ...CONTROLLER_LEASE, annotations, resourceVersion: String(this.#version) }, spec };
  }

  #answer(status: number): KubeResponse {
    return { status, headers: {}, body: this.lease };
  }
}

/** Resolves when the signal is aborted. */
async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve());
  if (signal.aborted) resolve();
  await promise;
}

/** How long a candidate leads that keeps on until it has lost its term. */
async function leads(bench: Bench): Promise<number> {
  let lostAt = 0;
  await bench.run(async ({ signal }) => {
    await aborted(signal);
    lostAt = bench.elapsedMs;
    assert.equal((signal.reason as NodemaintError).code, 'LEASE_LOST');
    bench.stop.abort();
  });
  return lostAt;
}

describe('the leader election', () => {
  it('the first candidate takes the Lease at once, renews it, and gives it back when it stops', async () => {
    const bench = new Bench();
    bench.at(2 * RETRY_MS, () => bench.stop.abort());
    await bench.run(async () => await aborted(bench.stop.signal));
    const renewed = ['2000 PUT us', '4000 PUT us', '4000 follows', '4000 PUT nothing'];
    assert.deepEqual(bench.log, ['0 follows', '0 POST us', '0 leads', ...renewed]);
    assert.equal(bench.lease?.metadata.annotations?.['example.com/options'], 'x', 'also when nobody leads any more');
  });

  it('the term of a leader that cannot renew ends at the renew deadline, before another candidate may take the Lease', async () => {
    const bench = new Bench();
    bench.at(1, () => (bench.isReachable = false));
    assert.equal(await leads(bench), RENEW_DEADLINE_MS);
    assert.deepEqual(bench.log, ['0 follows', '0 POST us', '0 leads', '10000 follows']);
  });

  it('the renew deadline counts from the last renewal', async () => {
    const bench = new Bench();
    bench.at(3 * RETRY_MS, () => (bench.isReachable = false));
    assert.equal(await leads(bench), 2 * RETRY_MS + RENEW_DEADLINE_MS);
  });

  it('the term of a leader ends when another candidate has the Lease, which is not written then', async () => {
    const bench = new Bench();
    bench.at(RETRY_MS, () => bench.write('other'));
    // The first renewal fails with a conflict; the next one reads the Lease.
    assert.equal(await leads(bench), 2 * RETRY_MS);
    assert.deepEqual(bench.log, ['0 follows', '0 POST us', '0 leads', '4000 follows']);
    assert.equal(bench.lease?.spec?.holderIdentity, 'other');
  });

  it('a candidate takes the Lease of another one when it has not observed a change for the duration of the Lease', async () => {
    const bench = new Bench();
    bench.write('other');
    bench.at(4_000, () => bench.write('other'));
    await bench.runOnce();
    assert.deepEqual(bench.log, ['0 follows', '19000 PUT us', '19000 leads', '19000 follows', '19000 PUT nothing']);
  });

  it('a leader that does not see what it decides from gives the Lease back, and stands again when it does', async () => {
    const bench = new Bench();
    bench.mayLead = () => bench.elapsedMs < 2 * RETRY_MS || bench.elapsedMs >= 30_000;
    let terms = 0;
    await bench.run(async (term) => {
      terms += 1;
      if (terms === 2) bench.stop.abort();
      else await aborted(term.signal);
    });
    const [blind, again] = [
      ['2000 PUT us', '4000 PUT us', '4000 follows', '4000 PUT nothing'],
      ['30000 PUT us', '30000 leads', '30000 follows', '30000 PUT nothing'],
    ];
    assert.deepEqual(bench.log, ['0 follows', '0 POST us', '0 leads', ...blind, ...again]);
  });

  it('a candidate that does not see leaves a free Lease alone', async () => {
    const bench = new Bench();
    bench.mayLead = () => false;
    bench.at(60_000, () => bench.stop.abort());
    await bench.run(() => Promise.reject(new Error('it does not lead')));
    assert.deepEqual(bench.log, ['0 follows']);
  });

  it('the readiness of a candidate is told whether the API server answered', async () => {
    const bench = new Bench();
    const told: boolean[] = [];
    bench.isReachable = false;
    bench.mayLead = (isAnswered) => told.push(isAnswered) > 0;
    bench.at(2_000, () => (bench.isReachable = true));
    await bench.runOnce();
    assert.deepEqual(told, [true, false, false]);
  });

  it('the election rejects with the error of the leader after it has given the Lease back', async () => {
    const bench = new Bench();
    await assert.rejects(
      bench.run(() => Promise.reject(new Error('broken'))),
      /broken/,
    );
    assert.equal(bench.log.at(-1), '0 PUT nothing');
  });
});
