/**
 * Each call of an offline drain to the container runtime goes wrong in turn, once: it is answered with an error, before or
 * after it was carried out, it is never answered, or the runtime is restarted. The drain ends in the same order, with the
 * same targets, and every pod has its grace period.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { drainOffline, type OfflineFault, type OfflineRun, TIERS } from '../support/rigs/offline-drain.ts';
import type { CriEvent, CriFault } from '../support/stand-ins/cri-runtime.ts';
import { isThorough } from '../support/thorough.ts';

const FAULTS: readonly CriFault[] = ['error', 'error after it was done', 'hang', 'restart', 'restart after it began'];
/** A clock that is read by two sides is not exact. */
const SLACK_MS = 50;
/** A drain of these pods has more calls; how many depends on when it looks. */
const LEAST_CALLS = 30;
/** Drains at the same time: each mostly waits. */
const AT_ONCE = 16;
/** Of the calls one in so many goes wrong; which ones differs between the faults, so that together they are all calls. */
const EVERY = isThorough('two of three calls for each fault of the runtime') ? 1 : 3;

function endOf(events: readonly CriEvent[], pod: string): number {
  return events.findIndex((event) => event.pod === pod && event.what !== 'TERM');
}

/** Asserts that all pods ended, tier by tier, and none before its grace period without having ended by itself. */
function assertOrder({ events, comeBack, left, inPlace }: OfflineRun): void {
  const text = events.map(({ what, pod }) => `${what} ${pod}`).join(', ');
  for (const [index, tier] of TIERS.entries()) {
    for (const { name, graceSec, endsAfterMs } of tier) {
      const end = events[endOf(events, name)];
      const term = events.find((event) => event.pod === name && event.what === 'TERM');
      assert.ok(end !== undefined && term !== undefined, `${name} got SIGTERM and ended: ${text}`);
      assert.equal(end.what, endsAfterMs === Infinity ? 'KILL' : 'END', `${name}: ${text}`);
      if (end.what === 'KILL')
        assert.ok(end.at - term.at >= graceSec * 1000 - SLACK_MS, `${name} had its grace period`);
      for (const { name: other } of TIERS[index - 1] ?? []) {
        assert.ok(endOf(events, other) < events.indexOf(term), `${name} leaves after ${other}: ${text}`);
      }
    }
  }
  assert.deepEqual(comeBack, [], 'the kubelet would have started them again');
  assert.equal(left, undefined);
  assert.deepEqual(inPlace, [], 'all manifests are parked');
}

describe('an offline drain in which one call goes wrong', () => {
  let base: string;
  let plain: OfflineRun;
  let runs = 0;

  before(async () => {
    base = await createQuickFolder('runtime');
    plain = await drainOffline(path.join(base, 'plain'), undefined);
    assertOrder(plain);
    assert.ok(plain.targets.length >= TIERS.length);
  });
  after(async () => {
    await rm(base, { recursive: true });
  });

  async function drainWith(fault: OfflineFault, what: string): Promise<OfflineRun> {
    try {
      const run = await drainOffline(path.join(base, String((runs += 1))), fault);
      assertOrder(run);
      assert.deepEqual(run.targets, plain.targets);
      return run;
    } catch (error) {
      throw new Error(what, { cause: error });
    }
  }

  for (const [offset, kind] of FAULTS.entries()) {
    it(`${EVERY === 1 ? 'every call' : `each ${EVERY}rd call`} of the runtime, each once (${kind}), changes neither the order nor the targets`, async (t) => {
      let next = 1 + (offset % EVERY) - EVERY;
      let hits = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        for (let isOver = false; !isOver; ) {
          const at = (next += EVERY);
          const run = await drainWith({ on: 'runtime', at, kind }, `${kind} at call ${at}`);
          most = Math.max(most, run.ms);
          isOver = run.calls.length < at;
          if (!isOver) hits += 1;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      assert.ok(hits * EVERY >= LEAST_CALLS, `only ${hits} calls`);
      const [from, to] = [plain.ms, most].map((ms) => `${(ms / 1000).toFixed(1)} s`);
      t.diagnostic(`${hits} calls × 1 fault; ${from} without, at most ${to} with it`);
    });
  }

  for (const on of ['kubelet', 'systemd'] as const) {
    it(`an error of ${on} changes neither the order nor the targets`, async () => {
      await drainWith({ on }, on);
    });
  }
});
