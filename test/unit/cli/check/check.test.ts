import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkUntil } from '../../../../src/cli/check/check.ts';
import type { ClusterFacts } from '../../../../src/show/checks/cluster-checks.ts';
import type { FleetState } from '../../../../src/show/fleet/node-state.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const MISSING = { kind: 'forbidden', why: 'not read here' } as const;

/** Facts of which only the nodes are known. */
function factsOf(state: FleetState): ClusterFacts {
  const nodes = { kind: 'known', value: [{ name: 'a', state, reason: '', nodeStatus: 'Ready' }] } as const;
  const none = { policies: MISSING, rights: MISSING, controller: MISSING };
  return { ...none, now: 0, version: '', resources: MISSING, webhook: MISSING, nodes, leftOvers: MISSING };
}

/** The looks at a cluster in which the node has these states one after another, the last one for good, and what came out. */
async function look(states: readonly FleetState[], waitMs: number): Promise<readonly [number, string | undefined]> {
  const clock = createSteppingClock();
  let looks = 0;
  const read = (): Promise<ClusterFacts> => {
    looks += 1;
    return Promise.resolve(factsOf(states[Math.min(looks, states.length) - 1] ?? 'guarded'));
  };
  const until = clock.monotonic() + waitMs;
  const checks = await checkUntil(read, clock, until, new AbortController().signal);
  return [looks, checks.find(({ name }) => name === 'agents')?.result];
}

describe('nodemaint check --wait', () => {
  it('checks once where nothing is to be waited for', async () => {
    assert.deepEqual(await look(['unguarded', 'guarded'], 0), [1, 'fail']);
    assert.deepEqual(await look(['guarded'], 60_000), [1, 'ok']);
  });

  it('checks again until no check fails', async () => {
    assert.deepEqual(await look(['unguarded', 'unguarded', 'guarded'], 60_000), [3, 'ok']);
  });

  it('gives up at the end of the time, with what it found last', async () => {
    assert.deepEqual(await look(['unguarded'], 12_000), [4, 'fail']);
  });
});
