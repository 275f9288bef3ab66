/** What the suites of `lifecycle.k8s.io` begin and end with, on one API server of Kubernetes 1.37. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildLifecycleRig, type LifecycleRig } from '../../support/rigs/lifecycle.ts';

/** Builds the rig before the tests of the block, and ends it after them; the rig is there while they run. */
export function useLifecycleRig(): () => LifecycleRig {
  let rig: LifecycleRig;
  before(async () => {
    rig = await buildLifecycleRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });
  return () => rig;
}

/** The last block: of the writes of all that ran before, more than so many, none was refused. */
export function addWritesCase(rigOf: () => LifecycleRig, who: string, moreThan: number): void {
  describe(`the writes of ${who}`, () => {
    it('the API server refuses none of them', async () => {
      const { count, refused } = await rigOf().writes();
      assert.deepEqual(refused, []);
      assert.ok(count > moreThan, `only ${count} writes were seen`);
    });
  });
}
