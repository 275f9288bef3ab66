/** What the product does for `lifecycle.k8s.io` beside upstream's cases, and its policies, on one API server of Kubernetes 1.37. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildLifecycleRig, type LifecycleRig } from '../../support/rigs/lifecycle.ts';
import { addAttackCases } from './attack-cases.ts';
import { addProductCases } from './product-cases.ts';
import { createScene } from './scene.ts';
import { addValidationCases } from './validation-cases.ts';

describe('evictions of lifecycle.k8s.io', () => {
  let rig: LifecycleRig;
  const rigOf = (): LifecycleRig => rig;
  const scene = createScene(rigOf);

  before(async () => {
    rig = await buildLifecycleRig();
  });

  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  describe('the controller and the add-on', { concurrency: 4 }, () => {
    let stops: readonly (() => Promise<void>)[];
    before(async () => {
      stops = [await rig.startController(), await rig.startLifecycle()];
    });
    after(async () => {
      for (const stop of stops) await stop();
    });
    addProductCases(rigOf, scene);
  });

  describe('who may write a status', () => {
    addAttackCases(rigOf, scene);
  });

  describe("upstream's cases of validation", { concurrency: 4 }, async () => {
    await addValidationCases(rigOf, scene);
  });

  describe('the writes of both', () => {
    it('the API server refuses none of them', async () => {
      const { count, refused } = await rig.writes();
      assert.deepEqual(refused, []);
      assert.ok(count > 20, `only ${count} writes were seen`);
    });
  });
});
