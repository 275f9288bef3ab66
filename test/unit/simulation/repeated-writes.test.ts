import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelChange } from '../../simulation/api-server/objects.ts';
import { repeatedWrites } from '../../simulation/repeated-writes.ts';
import { CONTROLLER } from '../../simulation/world.ts';

/** So many writes of one status, in which the reason why a pod blocks changes each `changesEach` writes. */
function found(times: number, changesEach: number): readonly string[] {
  const status = (at: number): object => {
    const reason = `reason ${Math.floor(at / changesEach)}`;
    return { status: { nodeStatuses: [{ nodeRef: { name: 'n' }, podsBlocking: [{ name: 'p', reason }] }] } };
  };
  const steps = Array.from({ length: times }, (_, index) => index + 1);
  const common = { verb: 'patch', resource: 'nodemaintenances/status', key: 'm', program: '', user: CONTROLLER };
  const writes = steps.map((at) => ({ ...common, revision: at, at }));
  const changes = steps.map((at) => ({
    kind: 'NodeMaintenance',
    key: 'm',
    at,
    before: status(at - 1),
    object: status(at),
  }));
  return repeatedWrites(writes, changes as unknown as readonly ModelChange[], 0, [CONTROLLER]).map(({ what }) => what);
}

const REPEATED = ['the controller repeats patch nodemaintenances/status while nothing changes'];

describe('what the simulation takes for a repeated write', () => {
  it('twelve writes that tell the same are allowed, and thirteen are not', () => {
    assert.deepEqual(found(12, 1_000), []);
    assert.deepEqual(found(13, 1_000), REPEATED);
  });

  it('a write with another reason why a pod blocks is not counted, up to thirty-six writes', () => {
    assert.deepEqual(found(20, 2), []);
    assert.deepEqual(found(37, 1), REPEATED);
  });
});
