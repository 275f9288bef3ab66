/** Upstream's cases by their names, and the product's own, on one API server of Kubernetes 1.37. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildLifecycleRig, type LifecycleRig } from '../../support/rigs/lifecycle.ts';
import { addAttackCases } from './attack-cases.ts';
import { addControllerCases } from './controller-cases.ts';
import { addEvictorCases } from './evictor-cases.ts';
import { addProductCases, addUpstreamCase } from './product-cases.ts';
import { createScene } from './scene.ts';
import { addValidationCases } from './validation-cases.ts';

describe('the controller of Evictions of lifecycle.k8s.io', () => {
  let rig: LifecycleRig;
  const rigOf = (): LifecycleRig => rig;
  const scene = createScene(rigOf);

  before(async () => {
    rig = await buildLifecycleRig();
  });

  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** Runs a part of the controller for the cases of a block. */
  const withPart = (lifecycleApi: string): void => {
    let stop: () => Promise<void>;
    before(async () => {
      stop = await rig.startController({ lifecycleApi });
    });
    after(async () => {
      await stop();
    });
  };

  describe("upstream's cases of the controller", { concurrency: 4 }, () => {
    // As upstream's own cases do: the tests play every responder.
    withPart('evictions');
    addControllerCases(rigOf, scene);
  });

  describe("upstream's cases of the default evictor", { concurrency: 6 }, () => {
    withPart('evictor');
    addEvictorCases(rigOf, scene.newNamespace);
  });

  describe('the whole', { concurrency: 4 }, () => {
    withPart('on');
    addProductCases(rigOf, scene);
  });

  describe('who may write a status', () => {
    addAttackCases(rigOf, scene);
  });

  describe("upstream's cases of validation", { concurrency: 4 }, async () => {
    await addValidationCases(rigOf, scene);
  });

  describe('the writes of the controller', () => {
    it('the API server refuses none of them', async () => {
      const { count, refused } = await rig.writes();
      assert.deepEqual(refused, []);
      assert.ok(count > 100, `only ${count} writes were seen`);
    });
  });

  describe("beside Kubernetes' own controller", () => {
    addUpstreamCase(rigOf, scene);
  });
});
