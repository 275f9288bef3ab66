import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Lease } from '../../src/api/lease.ts';
import { decideLease, type LeaseObservation, observeLease } from '../../src/decide/leader/lease.ts';

const LEASE_MS = 15_000;
const DEADLINE_MS = 10_000;

/** One candidate: its clocks, what it has read, and until when, in true time, it may write. */
interface Candidate {
  readonly identity: string;
  readonly monotonicOffset: number;
  wallOffset: number;
  sight: LeaseObservation | undefined;
  mayWriteUntil: number;
}

/** A step of the simulation: time passes, then a candidate reads, or writes by what it read at last. */
const step = fc.record({
  passesMs: fc.oneof(
    fc.constantFrom(0, 5_000, 10_000, 15_000),
    fc.integer({ min: 0, max: 3_000 }),
    fc.integer({ min: 0, max: 40_000 }),
  ),
  who: fc.nat({ max: 2 }),
  what: fc.constantFrom('read', 'write', 'read and write', 'release', 'clock jumps'),
  jumpMs: fc.integer({ min: -1e9, max: 1e9 }),
  /** How long a write is on its way before the server has it. */
  delayMs: fc.integer({ min: 0, max: 5_000 }),
});

describe('the rule of leader election', () => {
  it('the rule never lets two replicas write at the same time, whatever their clocks say and however late they come', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.nat(1e9), { minLength: 3, maxLength: 3 }),
        (steps, offsets) => {
          let now = 0;
          let version = 0;
          let stored: Lease | undefined;
          const candidates = offsets.map(
            (offset, index): Candidate => ({
              identity: `c${index}`,
              monotonicOffset: offset,
              wallOffset: offset * 7,
              sight: undefined,
              mayWriteUntil: -1,
            }),
          );
          for (const { passesMs, who, what, jumpMs, delayMs } of steps) {
            now += passesMs;
            const me = candidates[who] as Candidate;
            const monotonic = (): number => now + me.monotonicOffset;
            if (what === 'clock jumps') me.wallOffset += jumpMs;
            if (what.startsWith('read')) me.sight = observeLease(me.sight, stored, monotonic());
            if (what === 'release' && me.sight?.lease !== undefined && now < me.mayWriteUntil) {
              const ours = stored?.spec?.holderIdentity === me.identity;
              me.mayWriteUntil = -1;
              if (ours) {
                version += 1;
                stored = {
                  metadata: { name: 'l', resourceVersion: String(version) },
                  spec: { leaseTransitions: version },
                };
              }
            }
            if (!what.endsWith('write') || me.sight === undefined) continue;
            const at = Math.abs(now + me.wallOffset);
            const decision = decideLease(me.sight, { identity: me.identity, durationMs: LEASE_MS }, monotonic(), at);
            if (decision.kind === 'follow') continue;
            const begun = now;
            now += delayMs;
            if (me.sight.lease?.metadata.resourceVersion !== stored?.metadata.resourceVersion) continue;
            version += 1;
            stored = { metadata: { name: 'l', resourceVersion: String(version) }, spec: decision.spec };
            me.sight = observeLease(me.sight, stored, monotonic());
            me.mayWriteUntil = begun + DEADLINE_MS;
            const writers = candidates.filter(({ mayWriteUntil }) => mayWriteUntil > now);
            assert.ok(writers.length <= 1, `${writers.map(({ identity }) => identity).join(' and ')} may write`);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
